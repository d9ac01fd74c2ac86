// The validation that protoc-gen-validate generated for Envoy's API, as go-control-plane has it, for tests of ours. It
// reads JSON lines from standard input and answers each with one on standard output, in the same order. It ends with its
// standard input.
//
//	in   {"type": "envoy.config.cluster.v3.Cluster", "value": "<the message's bytes in base64>"}
//	out  {"first": "Name", "all": ["Name", "ConnectTimeout"]}
//	out  {"first": "", "all": []}
//	out  {"malformed": "proto: cannot parse invalid wire-format data"}
//	out  {"unknown": true}
//
// A fault in a message inside has the path to it: "LoadAssignment.Endpoints[0].Priority".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

type question struct {
	Type  string `json:"type"`
	Value []byte `json:"value"`
}

type answer struct {
	First     string   `json:"first"`
	All       []string `json:"all"`
	Malformed string   `json:"malformed,omitempty"`
	Unknown   bool     `json:"unknown,omitempty"`
}

// fault is what every generated ValidationError has.
type fault interface {
	Field() string
	Cause() error
}

func paths(err error, before string) []string {
	if many, ok := err.(interface{ AllErrors() []error }); ok {
		found := []string{}
		for _, each := range many.AllErrors() {
			found = append(found, paths(each, before)...)
		}
		return found
	}
	if one, ok := err.(fault); ok {
		path := before + one.Field()
		if inner := one.Cause(); inner != nil && isFault(inner) {
			return paths(inner, path+".")
		}
		return []string{path}
	}
	return []string{before}
}

// isFault: the cause may also be what a parser said of a URI or a Duration.
func isFault(err error) bool {
	if _, ok := err.(fault); ok {
		return true
	}
	_, ok := err.(interface{ AllErrors() []error })
	return ok
}

func judge(q question) answer {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(q.Type))
	if err != nil {
		return answer{All: []string{}, Unknown: true}
	}
	message := kind.New().Interface()
	if err := proto.Unmarshal(q.Value, message); err != nil {
		return answer{All: []string{}, Malformed: err.Error()}
	}
	validated, ok := message.(interface {
		Validate() error
		ValidateAll() error
	})
	if !ok {
		return answer{All: []string{}, Unknown: true}
	}
	result := answer{All: []string{}}
	if err := validated.Validate(); err != nil {
		result.First = paths(err, "")[0]
	}
	if err := validated.ValidateAll(); err != nil {
		result.All = paths(err, "")
	}
	return result
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := bufio.NewWriter(os.Stdout)
	written := json.NewEncoder(out)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			fail(err)
		}
		if err := written.Encode(judge(q)); err != nil {
			fail(err)
		}
		if err := out.Flush(); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}
