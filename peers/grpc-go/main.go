// A grpc-go client that calls xds:///greeter without a pause and prints what its calls met with (see the README of
// examples/grpc). It ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds"
)

// bytesCodec passes on the bytes: the service has no messages.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(value any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*value.(*[]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, value any) error {
	*value.(*[]byte) = data.Materialize()
	return nil
}

// report holds all calls since the start, by who answered and by how they failed.
type report struct {
	Answers  map[string]int `json:"answers"`
	Failures map[string]int `json:"failures"`
}

func main() {
	pause := flag.Duration("pause", time.Millisecond, "the pause between two calls")
	flag.Parse()
	conn, err := grpc.NewClient("xds:///greeter",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{})))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()

	var lock sync.Mutex
	seen := report{Answers: map[string]int{}, Failures: map[string]int{}}
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			lock.Lock()
			line, _ := json.Marshal(seen)
			lock.Unlock()
			fmt.Println(string(line))
		}
	}()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		var request, answer []byte
		err := conn.Invoke(ctx, "/example.Greeter/Greet", &request, &answer)
		cancel()
		lock.Lock()
		if err == nil {
			seen.Answers[string(answer)]++
		} else {
			failure := status.Convert(err)
			seen.Failures[fmt.Sprintf("%s: %s", failure.Code(), failure.Message())]++
		}
		lock.Unlock()
		time.Sleep(*pause)
	}
}
