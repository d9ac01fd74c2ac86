// Envoy's v2 API as go-control-plane had it last: its server for tests of our client, and its stubs as a client of ours.
//
// `go-control-plane-v2 serve PORT` is that server, with the lines of ../go-control-plane; `REST` on the port it names.
//
//	in   {"version": "1", "set": {"<type URL>": {"<name>": "<the message's bytes in base64>"}}}
//	out  {"rest": "127.0.0.1:4712"}
//	out  {"address": "127.0.0.1:4711"}
//	out  {"set": "1"}
//	out  {"request": {"stream": 1, "type": "<type URL>", "version": "", "names": ["a"], "nonce": "", "error": ""}}
//	out  {"response": {"stream": 1, "type": "<type URL>", "version": "1", "names": ["a"], "nonce": "1"}}
//
// `go-control-plane-v2 call ADDRESS CLUSTER` asks a server for the clusters of the node's group by each method of v2, accepts
// them, and says what came:
//
//	out  {"answer": {"method": "StreamClusters", "type": "<type URL>", "version": "1", "names": ["a=<alt_stat_name>"], "error": ""}}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sort"
	"sync"
	"time"

	api "github.com/envoyproxy/go-control-plane/envoy/api/v2"
	core "github.com/envoyproxy/go-control-plane/envoy/api/v2/core"
	ads "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v2"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v2"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v2"
	"github.com/envoyproxy/go-control-plane/pkg/server/v2"
	"github.com/golang/protobuf/ptypes"
	"github.com/golang/protobuf/ptypes/any"
	"google.golang.org/grpc"
)

type message struct {
	Stream  int64    `json:"stream"`
	Type    string   `json:"type"`
	Version string   `json:"version"`
	Names   []string `json:"names"`
	Nonce   string   `json:"nonce"`
	Error   string   `json:"error,omitempty"`
}

type answer struct {
	Method  string   `json:"method"`
	Type    string   `json:"type"`
	Version string   `json:"version"`
	Names   []string `json:"names"`
	Error   string   `json:"error"`
}

var printing sync.Mutex

func say(what string, value interface{}) {
	printing.Lock()
	defer printing.Unlock()
	json.NewEncoder(os.Stdout).Encode(map[string]interface{}{what: value})
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var listening = server.CallbackFuncs{
	StreamRequestFunc: func(stream int64, r *api.DiscoveryRequest) error {
		say("request", message{Stream: stream, Type: r.GetTypeUrl(), Version: r.GetVersionInfo(), Names: r.GetResourceNames(),
			Nonce: r.GetResponseNonce(), Error: r.GetErrorDetail().GetMessage()})
		return nil
	},
	StreamResponseFunc: func(stream int64, _ *api.DiscoveryRequest, r *api.DiscoveryResponse) {
		say("response", message{Stream: stream, Type: r.GetTypeUrl(), Version: r.GetVersionInfo(), Names: namesIn(r.GetResources()),
			Nonce: r.GetNonce()})
	},
}

// namesIn gives the names of resources; of clusters also what is in them.
func namesIn(resources []*any.Any) []string {
	names := []string{}
	for _, packed := range resources {
		var unpacked ptypes.DynamicAny
		if err := ptypes.UnmarshalAny(packed, &unpacked); err != nil {
			names = append(names, "error: "+err.Error())
		} else if cluster, is := unpacked.Message.(*api.Cluster); is {
			names = append(names, cluster.GetName()+"="+cluster.GetAltStatName())
		} else {
			names = append(names, cache.GetResourceName(unpacked.Message))
		}
	}
	sort.Strings(names)
	return names
}

// everybody puts all nodes into one group.
type everybody struct{}

func (everybody) ID(*core.Node) string { return "" }

func resourcesOf(typeURL string, named map[string][]byte) []types.Resource {
	resources := []types.Resource{}
	for name, value := range named {
		var unpacked ptypes.DynamicAny
		if err := ptypes.UnmarshalAny(&any.Any{TypeUrl: typeURL, Value: value}, &unpacked); err != nil {
			fail(fmt.Errorf("%s %q: %w", typeURL, name, err))
		}
		resources = append(resources, unpacked.Message)
	}
	return resources
}

func serve(port string) {
	snapshots := cache.NewSnapshotCache(false, everybody{}, nil)
	xds := server.NewServer(context.Background(), snapshots, listening)
	grpcServer := grpc.NewServer()
	ads.RegisterAggregatedDiscoveryServiceServer(grpcServer, xds)
	ads.RegisterSecretDiscoveryServiceServer(grpcServer, xds)
	ads.RegisterRuntimeDiscoveryServiceServer(grpcServer, xds)
	api.RegisterClusterDiscoveryServiceServer(grpcServer, xds)
	api.RegisterEndpointDiscoveryServiceServer(grpcServer, xds)
	api.RegisterListenerDiscoveryServiceServer(grpcServer, xds)
	api.RegisterRouteDiscoveryServiceServer(grpcServer, xds)
	gateway := &server.HTTPGateway{Server: xds}

	// The first set comes before the port is open: a client that reconnects must not find a server that knows nothing.
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for isServing := false; ; isServing = true {
		var line struct {
			Version string                       `json:"version"`
			Set     map[string]map[string][]byte `json:"set"`
		}
		if in.Decode(&line) != nil {
			return
		}
		of := func(typeURL string) []types.Resource { return resourcesOf(typeURL, line.Set[typeURL]) }
		snapshot := cache.NewSnapshot(line.Version, of(resource.EndpointType), of(resource.ClusterType), of(resource.RouteType),
			of(resource.ListenerType), of(resource.RuntimeType), of(resource.SecretType))
		if err := snapshots.SetSnapshot("", snapshot); err != nil {
			fail(err)
		}
		say("set", line.Version)
		if isServing {
			continue
		}
		rest, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fail(err)
		}
		go http.Serve(rest, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, code, err := gateway.ServeHTTP(r)
			if err != nil {
				body = []byte(err.Error())
			}
			w.WriteHeader(code)
			w.Write(body)
		}))
		say("rest", rest.Addr().String())
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			fail(err)
		}
		say("address", listener.Addr().String())
		go grpcServer.Serve(listener)
	}
}

// stream is what the streams of all services have in common.
type stream interface {
	Send(*api.DiscoveryRequest) error
	Recv() (*api.DiscoveryResponse, error)
}

type deltaStream interface {
	Send(*api.DeltaDiscoveryRequest) error
	Recv() (*api.DeltaDiscoveryResponse, error)
}

func call(address, group string) {
	connection, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithBlock())
	if err != nil {
		fail(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	node := &core.Node{Id: "v2", Cluster: group}
	clusters := api.NewClusterDiscoveryServiceClient(connection)
	aggregated := ads.NewAggregatedDiscoveryServiceClient(connection)

	told := func(method string, r *api.DiscoveryResponse, err error) {
		if err != nil {
			say("answer", answer{Method: method, Names: []string{}, Error: err.Error()})
			return
		}
		say("answer", answer{Method: method, Type: r.GetTypeUrl(), Version: r.GetVersionInfo(), Names: namesIn(r.GetResources())})
	}
	inStream := func(method string, s stream, err error) {
		if err == nil {
			err = s.Send(&api.DiscoveryRequest{Node: node, TypeUrl: resource.ClusterType})
		}
		var r *api.DiscoveryResponse
		if err == nil {
			r, err = s.Recv()
		}
		if err == nil {
			err = s.Send(&api.DiscoveryRequest{TypeUrl: r.GetTypeUrl(), VersionInfo: r.GetVersionInfo(), ResponseNonce: r.GetNonce()})
		}
		told(method, r, err)
	}
	inDelta := func(method string, s deltaStream, err error) {
		if err == nil {
			err = s.Send(&api.DeltaDiscoveryRequest{Node: node, TypeUrl: resource.ClusterType, ResourceNamesSubscribe: []string{"*"}})
		}
		var r *api.DeltaDiscoveryResponse
		if err == nil {
			r, err = s.Recv()
		}
		if err != nil {
			told(method, nil, err)
			return
		}
		packed := []*any.Any{}
		for _, each := range r.GetResources() {
			packed = append(packed, each.GetResource())
		}
		err = s.Send(&api.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
		told(method, &api.DiscoveryResponse{TypeUrl: r.GetTypeUrl(), VersionInfo: r.GetSystemVersionInfo(), Resources: packed}, err)
	}

	streamed, err := clusters.StreamClusters(ctx)
	inStream("StreamClusters", streamed, err)
	fetched, err := clusters.FetchClusters(ctx, &api.DiscoveryRequest{Node: node})
	told("FetchClusters", fetched, err)
	delta, err := clusters.DeltaClusters(ctx)
	inDelta("DeltaClusters", delta, err)
	all, err := aggregated.StreamAggregatedResources(ctx)
	inStream("StreamAggregatedResources", all, err)
	allDelta, err := aggregated.DeltaAggregatedResources(ctx)
	inDelta("DeltaAggregatedResources", allDelta, err)
}

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		serve(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "call":
		call(os.Args[2], os.Args[3])
	default:
		fail(fmt.Errorf("usage: go-control-plane-v2 serve <port, or 0 for any> | call <address> <cluster of the node>"))
	}
}
