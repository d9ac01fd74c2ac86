// go-control-plane as its documentation and example have it, over grpc-go: a snapshot cache, or linear caches behind a
// mux. Driven by JSON lines on standard input; see Server.ts.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const group = "bench"

type resource struct {
	Name string `json:"name"`
	// The bytes of the message.
	Value []byte `json:"value"`
}

type command struct {
	ID       int        `json:"id"`
	Name     string     `json:"command"`
	Fixtures string     `json:"fixtures"`
	TypeURL  string     `json:"typeUrl"`
	Changes  []resource `json:"changes"`
}

// store is what both caches are driven through.
type store interface {
	cache.Cache
	load(typeURL string, resources map[string]types.Resource) error
	// Puts resources in, in one step.
	update(resources map[string]types.Resource) error
}

// linear is one LinearCache for each type behind a MuxCache.
type linear struct {
	*cache.MuxCache
	current *cache.LinearCache
}

func newLinear() *linear {
	return &linear{MuxCache: &cache.MuxCache{
		Classify:      func(request *cache.Request) string { return request.GetTypeUrl() },
		ClassifyDelta: func(request *cache.DeltaRequest) string { return request.GetTypeUrl() },
		Caches:        map[string]cache.Cache{},
	}}
}

func (l *linear) load(typeURL string, resources map[string]types.Resource) error {
	l.current = cache.NewLinearCache(typeURL, cache.WithInitialResources(resources))
	l.Caches[typeURL] = l.current
	return nil
}

func (l *linear) update(resources map[string]types.Resource) error {
	if len(resources) == 1 {
		for name, resource := range resources {
			return l.current.UpdateResource(name, resource)
		}
	}
	return l.current.UpdateResources(resources, nil)
}

// snapshots is a SnapshotCache in ADS mode. All clients share one snapshot, as those of one group do: the hash of a node
// is its cluster.
type snapshots struct {
	cache.SnapshotCache
	typeURL string
	order   []string
	held    map[string]types.Resource
	version int
}

type byCluster struct{}

func (byCluster) ID(node *core.Node) string { return node.GetCluster() }

func (s *snapshots) load(typeURL string, resources map[string]types.Resource) error {
	s.typeURL, s.held = typeURL, resources
	for name := range resources {
		s.order = append(s.order, name)
	}
	return s.set()
}

func (s *snapshots) update(resources map[string]types.Resource) error {
	for name, resource := range resources {
		s.held[name] = resource
	}
	return s.set()
}

func (s *snapshots) set() error {
	s.version++
	list := make([]types.Resource, 0, len(s.order))
	for _, name := range s.order {
		list = append(list, s.held[name])
	}
	snapshot, err := cache.NewSnapshot(strconv.Itoa(s.version), map[string][]types.Resource{s.typeURL: list})
	if err != nil {
		return err
	}
	return s.SetSnapshot(context.Background(), group, snapshot)
}

func decode(typeURL string, value []byte) (types.Resource, error) {
	return anypb.UnmarshalNew(&anypb.Any{TypeUrl: typeURL, Value: value}, proto.UnmarshalOptions{})
}

// readFixtures reads a file of length-delimited envoy.service.discovery.v3.Resource.
func readFixtures(path, typeURL string) (map[string]types.Resource, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	resources := map[string]types.Resource{}
	for {
		size, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return resources, nil
		}
		if err != nil {
			return nil, err
		}
		bytes := make([]byte, size)
		if _, err := io.ReadFull(in, bytes); err != nil {
			return nil, err
		}
		var wrapped discovery.Resource
		if err := proto.Unmarshal(bytes, &wrapped); err != nil {
			return nil, err
		}
		message, err := decode(typeURL, wrapped.GetResource().GetValue())
		if err != nil {
			return nil, err
		}
		resources[wrapped.GetName()] = message
	}
}

// serve is the server of the project's example.
func serve(ctx context.Context, s store) (string, error) {
	grpcServer := grpc.NewServer(
		grpc.MaxConcurrentStreams(1000000),
		// The example gives up a client whose answer to a ping it has not read for 5 seconds. On few cores it is itself too
		// busy to read that long, with a snapshot of many resources, and loses the clients that it is measured with.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 5 * time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 30 * time.Second, PermitWithoutStream: true}),
	)
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, server.NewServer(ctx, s, server.CallbackFuncs{}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go grpcServer.Serve(listener)
	return listener.Addr().String(), nil
}

func cpuMicroseconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

func main() {
	var s store
	switch kind := os.Args[1]; kind {
	case "linear":
		s = newLinear()
	case "snapshot":
		s = &snapshots{SnapshotCache: cache.NewSnapshotCache(false, byCluster{}, nil)}
	default:
		fmt.Fprintf(os.Stderr, "no such cache: %s\n", kind)
		os.Exit(2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	typeURL := ""
	var prepared []map[string]types.Resource
	run := func(c *command) (any, error) {
		switch c.Name {
		case "load":
			typeURL = c.TypeURL
			resources, err := readFixtures(c.Fixtures, typeURL)
			if err != nil {
				return nil, err
			}
			if err := s.load(typeURL, resources); err != nil {
				return nil, err
			}
			address, err := serve(ctx, s)
			return map[string]any{"address": address, "versions": versions()}, err
		case "prepare":
			messages := make(map[string]types.Resource, len(c.Changes))
			for _, change := range c.Changes {
				message, err := decode(typeURL, change.Value)
				if err != nil {
					return nil, err
				}
				messages[change.Name] = message
			}
			prepared = append(prepared, messages)
			return nil, nil
		case "apply":
			if len(prepared) == 0 {
				return nil, errors.New("nothing is prepared")
			}
			change := prepared[0]
			prepared = prepared[1:]
			return nil, s.update(change)
		case "applyAll":
			start := cpuMicroseconds()
			for _, change := range prepared {
				if err := s.update(change); err != nil {
					return nil, err
				}
			}
			prepared = nil
			return map[string]any{"cpuMicroseconds": cpuMicroseconds() - start}, nil
		case "gc":
			debug.FreeOSMemory()
			return nil, nil
		case "quit":
			return nil, nil
		}
		return nil, fmt.Errorf("no such command: %q", c.Name)
	}

	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	encoder := json.NewEncoder(os.Stdout)
	for {
		var c command
		if err := decoder.Decode(&c); err != nil {
			return // The harness has gone.
		}
		result, err := run(&c)
		answer := map[string]any{"id": c.ID}
		if err != nil {
			answer["error"] = err.Error()
		} else {
			answer["result"] = result
		}
		encoder.Encode(answer)
		if c.Name == "quit" {
			return
		}
	}
}

func versions() map[string]string {
	found := map[string]string{"go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			switch module.Path {
			case "github.com/envoyproxy/go-control-plane":
				found["go-control-plane"] = module.Version
			case "google.golang.org/grpc":
				found["grpc-go"] = module.Version
			}
		}
	}
	return found
}
