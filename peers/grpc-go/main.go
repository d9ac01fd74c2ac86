// A grpc-go client that calls xds:///greeter without a pause and prints what its calls met with (see the README of
// examples/grpc). With -asked it makes the calls that each line of its standard input asks for, and prints who answered
// them. It ends with its standard input.
package main

import (
	"bufio"
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
	"google.golang.org/grpc/metadata"
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

// call gives who answered, or how the call failed.
func call(conn *grpc.ClientConn, limit time.Duration, headers [][2]string) (answer, failure string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, header := range headers {
		ctx = metadata.AppendToOutgoingContext(ctx, header[0], header[1])
	}
	var request, response []byte
	if err := conn.Invoke(ctx, "/example.Greeter/Greet", &request, &response); err != nil {
		failed := status.Convert(err)
		return "", fmt.Sprintf("%s: %s", failed.Code(), failed.Message())
	}
	return string(response), ""
}

// question asks for calls with these headers, each so many times.
type question struct {
	Calls [][][2]string `json:"calls"`
	Times int           `json:"times"`
}

// ask makes the calls, 16 at a time; it gives for each who answered how often.
func ask(conn *grpc.ClientConn, asked question) []map[string]int {
	answers := make([]map[string]int, len(asked.Calls))
	for at := range answers {
		answers[at] = map[string]int{}
	}
	var lock sync.Mutex
	var lanes sync.WaitGroup
	todo := make(chan int)
	for range 16 {
		lanes.Go(func() {
			for at := range todo {
				by, failure := call(conn, 30*time.Second, asked.Calls[at])
				if failure != "" {
					by = "failed: " + failure
				}
				lock.Lock()
				answers[at][by]++
				lock.Unlock()
			}
		})
	}
	for n := range len(asked.Calls) * asked.Times {
		todo <- n % len(asked.Calls)
	}
	close(todo)
	lanes.Wait()
	return answers
}

// answerLines answers each line of the standard input with a line.
func answerLines(conn *grpc.ClientConn) error {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		answers, err := json.Marshal(ask(conn, asked))
		if err != nil {
			return err
		}
		fmt.Println(string(answers))
	}
}

func main() {
	pause := flag.Duration("pause", time.Millisecond, "the pause between two calls")
	asked := flag.Bool("asked", false, "make the calls that lines of the standard input ask for")
	flag.Parse()
	conn, err := grpc.NewClient("xds:///greeter",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{})))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *asked {
		if err := answerLines(conn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
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
		answer, failure := call(conn, 20*time.Second, nil)
		lock.Lock()
		if failure == "" {
			seen.Answers[answer]++
		} else {
			seen.Failures[failure]++
		}
		lock.Unlock()
		time.Sleep(*pause)
	}
}
