//go:build tools

// Pins grpcurl, which is built from its own package.
package main

import _ "github.com/fullstorydev/grpcurl/cmd/grpcurl"
