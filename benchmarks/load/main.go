// The load generator: many xDS clients in one process, as cheap as they can be. It subscribes, ACKs, and counts.
//
// HTTP/2 is spoken by hand and responses are walked, not decoded: of a response only the nonce, the version and, where
// a case needs them, the names are read. It needs nothing but Go's standard library.
//
// Commands are JSON lines on standard input, answers JSON lines on standard output; see Load.ts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type command struct {
	ID   int    `json:"id"`
	Name string `json:"command"`

	Open *openOptions `json:"open"`

	// mark: how many streams are to get at least how many resources (or responses) from now on.
	Streams   int `json:"streams"`
	Resources int `json:"resources"`
	Responses int `json:"responses"`
	// wait: milliseconds.
	Timeout int `json:"timeout"`
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	reply := func(id int, result any, err error) {
		answer := map[string]any{"id": id}
		if err != nil {
			answer["error"] = err.Error()
		} else {
			answer["result"] = result
		}
		line, _ := json.Marshal(answer)
		out.Write(line)
		out.WriteByte('\n')
		out.Flush()
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := json.NewDecoder(in)
	load := newLoad()
	for {
		var c command
		if err := decoder.Decode(&c); err != nil {
			return // The harness has gone.
		}
		result, err := load.run(&c)
		reply(c.ID, result, err)
		if c.Name == "quit" {
			return
		}
	}
}

func (l *load) run(c *command) (any, error) {
	switch c.Name {
	case "open":
		return nil, l.open(c.Open)
	case "mark":
		l.mark(c.Streams, c.Resources, c.Responses)
		return nil, nil
	case "wait":
		return l.wait(c.Timeout)
	case "counts":
		return l.counts(), l.failure()
	case "digests":
		return l.digests(), nil
	case "latencies":
		return l.latencies(), l.failure()
	case "throttle":
		l.throttled.Store(true)
		return nil, nil
	case "close":
		l.close()
		return nil, nil
	case "quit":
		l.close()
		return nil, nil
	}
	return nil, fmt.Errorf("no such command: %q", c.Name)
}
