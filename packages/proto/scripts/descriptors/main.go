// Writes the descriptors of Envoy's API, as the Go modules in go.mod have them, to standard output: a FileDescriptorSet in
// the order of dependencies, always the same bytes; without google/protobuf, which everybody has. imports.go, which
// ../descriptors.mjs writes, links the packages in.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// What is asked for; what it imports comes along.
var roots = []string{"envoy/", "udpa/", "xds/", "google/rpc/"}

func isRoot(path string) bool {
	for _, root := range roots {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}

func main() {
	var files []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if isRoot(file.Path()) {
			files = append(files, file)
		}
		return true
	})
	sort.Slice(files, func(a, b int) bool { return files[a].Path() < files[b].Path() })

	set := &descriptorpb.FileDescriptorSet{}
	added := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if added[file.Path()] || strings.HasPrefix(file.Path(), "google/protobuf/") {
			return
		}
		added[file.Path()] = true
		imports := file.Imports()
		for i := 0; i < imports.Len(); i++ {
			if imports.Get(i).IsPlaceholder() {
				fail(fmt.Errorf("%s imports %s, which no package has", file.Path(), imports.Get(i).Path()))
			}
			add(imports.Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
	}
	for _, file := range files {
		add(file)
	}

	// One build of the same versions always writes the same: extensions and maps in the order of their numbers and keys.
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		fail(err)
	}
	if _, err := os.Stdout.Write(bytes); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
