module effect-xds/benchmarks/load

go 1.24
