// go-control-plane's server, as its documentation sets it up, for tests of our client. What it serves comes as JSON
// lines on standard input; what it hears and sends goes out as JSON lines. It ends with its standard input, so that it
// does not outlive a test, however that ended.
//
//	in   {"version": "1", "set": {"<type URL>": {"<name>": "<the message's bytes in base64>"}}}
//	out  {"address": "127.0.0.1:4711"}
//	out  {"set": "1"}
//	out  {"request": {"stream": 1, "type": "<type URL>", "version": "", "names": ["a"], "nonce": "", "error": ""}}
//	out  {"response": {"stream": 1, "type": "<type URL>", "version": "1", "names": ["a"], "nonce": "1"}}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusters "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpoints "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listeners "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routes "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// message is a request or a response, of either protocol.
type message struct {
	Stream  int64  `json:"stream"`
	Type    string `json:"type"`
	Version string `json:"version"`
	// Of the resources that a response has, or that a request asks for: in incremental those that are new.
	Names []string `json:"names"`
	// Incremental: names given up, or of resources that are gone.
	Removed []string `json:"removed,omitempty"`
	// Incremental: what the client says to have.
	Held  map[string]string `json:"held,omitempty"`
	Nonce string            `json:"nonce"`
	// Why the client did not take the response with the nonce.
	Error string `json:"error,omitempty"`
}

var printing sync.Mutex

func say(what string, value any) {
	printing.Lock()
	defer printing.Unlock()
	json.NewEncoder(os.Stdout).Encode(map[string]any{what: value})
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var listening = server.CallbackFuncs{
	StreamRequestFunc: func(stream int64, r *discovery.DiscoveryRequest) error {
		say("request", message{Stream: stream, Type: r.GetTypeUrl(), Version: r.GetVersionInfo(), Names: r.GetResourceNames(),
			Nonce: r.GetResponseNonce(), Error: r.GetErrorDetail().GetMessage()})
		return nil
	},
	StreamDeltaRequestFunc: func(stream int64, r *discovery.DeltaDiscoveryRequest) error {
		say("request", message{Stream: stream, Type: r.GetTypeUrl(), Names: r.GetResourceNamesSubscribe(),
			Removed: r.GetResourceNamesUnsubscribe(), Held: r.GetInitialResourceVersions(), Nonce: r.GetResponseNonce(),
			Error: r.GetErrorDetail().GetMessage()})
		return nil
	},
	StreamResponseFunc: func(_ context.Context, stream int64, _ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
		names := []string{}
		for _, packed := range r.GetResources() {
			if resource, err := packed.UnmarshalNew(); err == nil {
				names = append(names, cache.GetResourceName(resource))
			}
		}
		say("response", message{Stream: stream, Type: r.GetTypeUrl(), Version: r.GetVersionInfo(), Names: names, Nonce: r.GetNonce()})
	},
	StreamDeltaResponseFunc: func(stream int64, _ *discovery.DeltaDiscoveryRequest, r *discovery.DeltaDiscoveryResponse) {
		names := []string{}
		for _, resource := range r.GetResources() {
			names = append(names, resource.GetName())
		}
		say("response", message{Stream: stream, Type: r.GetTypeUrl(), Version: r.GetSystemVersionInfo(), Names: names,
			Removed: r.GetRemovedResources(), Nonce: r.GetNonce()})
	},
}

// everybody puts all nodes into one group.
type everybody struct{}

func (everybody) ID(*core.Node) string { return "" }

func snapshotOf(version string, set map[string]map[string][]byte) (*cache.Snapshot, error) {
	resources := map[string][]types.Resource{}
	for typeURL, named := range set {
		resources[typeURL] = []types.Resource{}
		for name, value := range named {
			resource, err := anypb.UnmarshalNew(&anypb.Any{TypeUrl: typeURL, Value: value}, proto.UnmarshalOptions{})
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", typeURL, name, err)
			}
			resources[typeURL] = append(resources[typeURL], resource)
		}
	}
	return cache.NewSnapshot(version, resources)
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: go-control-plane <port, or 0 for any>"))
	}
	// false: without the order of ADS, in which it answers only those who ask for all there is.
	snapshots := cache.NewSnapshotCache(false, everybody{}, nil)
	xds := server.NewServer(context.Background(), snapshots, listening)
	grpcServer := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, xds)
	clusters.RegisterClusterDiscoveryServiceServer(grpcServer, xds)
	endpoints.RegisterEndpointDiscoveryServiceServer(grpcServer, xds)
	listeners.RegisterListenerDiscoveryServiceServer(grpcServer, xds)
	routes.RegisterRouteDiscoveryServiceServer(grpcServer, xds)

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
		snapshot, err := snapshotOf(line.Version, line.Set)
		if err != nil {
			fail(err)
		}
		if err := snapshots.SetSnapshot(context.Background(), "", snapshot); err != nil {
			fail(err)
		}
		say("set", line.Version)
		if isServing {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
		if err != nil {
			fail(err)
		}
		say("address", listener.Addr().String())
		go func() { fail(grpcServer.Serve(listener)) }()
	}
}
