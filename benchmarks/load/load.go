package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

type openOptions struct {
	Address     string `json:"address"`
	Connections int    `json:"connections"`
	Streams     int    `json:"streams"`
	Incremental bool   `json:"incremental"`
	TypeURL     string `json:"typeUrl"`
	// Name of the group: the cluster of every client's node.
	Group string `json:"group"`
	// Names from the fixtures: stream i asks for PerStream names from i*Stride on. 0: wildcard.
	Fixtures  string `json:"fixtures"`
	PerStream int    `json:"perStream"`
	Stride    int    `json:"stride"`
	// Says what the recorded stream was sent, as initial_resource_versions.
	Initial bool `json:"initial"`
	// Remembers what the first stream is sent, for Initial.
	Record bool `json:"record"`
	// Keeps a digest of each stream's state, and when it got which change.
	Track bool `json:"track"`
	// So many connections begin in a second, each with one stream that asks at once. 0: all connect, then all ask.
	PerSecond int `json:"perSecond"`
	// So many of the streams read only SlowBytes per second once they are throttled, each on a connection of its own.
	Slow             int `json:"slow"`
	SlowBytes        int `json:"slowBytes"`
	StreamWindow     int `json:"streamWindow"`
	ConnectionWindow int `json:"connectionWindow"`
}

type stream struct {
	conn  *conn
	index int
	id    uint32
	slow  bool

	// Sending.
	window  int
	pending []byte
	names   []byte // the names of a state-of-the-world request, encoded: they are repeated in each ACK

	// Receiving.
	received  int
	rest      []byte
	left      int // bytes of the message that are still to come
	inMessage bool
	nonce     []byte
	version   []byte
	resources int
	removed   int

	// Counts since the mark.
	epoch     int64
	responses int64
	total     int64
	gone      int64

	state    map[string]uint32
	digest   uint32
	sequence int // the newest change it has
}

type load struct {
	options openOptions
	conns   []*conn
	streams []*stream
	typeURL []byte

	epoch           atomic.Int64
	wantedStreams   int64
	wantedResources int64
	wantedResponses int64
	done            atomic.Int64
	responses       atomic.Int64
	resources       atomic.Int64
	bytes           atomic.Int64
	reached         chan struct{}
	marked          time.Time
	lastAck         atomic.Int64

	failed   chan struct{}
	failOnce sync.Once
	err      error

	recorded [][]byte // initial_resource_versions fields

	throttled atomic.Bool

	track sync.Mutex
	seen  []arrival // by sequence
}

// arrival says how many of the fast streams have a change, and when the last of them got it.
type arrival struct {
	Streams int   `json:"streams"`
	Last    int64 `json:"last"` // nanoseconds since 1970
}

func newLoad() *load {
	return &load{failed: make(chan struct{}), reached: make(chan struct{})}
}

func (l *load) fail(err error) {
	l.failOnce.Do(func() {
		l.err = err
		close(l.failed)
	})
}

func (l *load) failure() error {
	select {
	case <-l.failed:
		return l.err
	default:
		return nil
	}
}

func (l *load) mark(streams, resources, responses int) {
	l.wantedStreams, l.wantedResources, l.wantedResponses = int64(streams), int64(resources), int64(responses)
	l.reached = make(chan struct{})
	l.done.Store(0)
	l.responses.Store(0)
	l.resources.Store(0)
	l.bytes.Store(0)
	l.marked = time.Now()
	l.epoch.Add(1)
}

func (l *load) wait(milliseconds int) (any, error) {
	select {
	case <-l.reached:
	case <-l.failed:
		return nil, l.err
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
	}
	return l.counts(), nil
}

// counts are of what came since the mark.
func (l *load) counts() any {
	type counts struct {
		Done         int64   `json:"done"`      // streams that have what was wanted
		Streams      int     `json:"streams"`   // streams that got a response
		Responses    int64   `json:"responses"` // in all
		Resources    int64   `json:"resources"`
		Removed      int64   `json:"removed"`
		Bytes        int64   `json:"bytes"`
		MinResources int64   `json:"minResources"` // of the streams that got a response
		MaxResources int64   `json:"maxResources"`
		MinResponses int64   `json:"minResponses"`
		MaxResponses int64   `json:"maxResponses"`
		Milliseconds float64 `json:"milliseconds"` // from the mark to the last ACK
	}
	result := counts{Done: l.done.Load(), Bytes: l.bytes.Load(), MinResources: -1, MinResponses: -1}
	epoch := l.epoch.Load()
	for _, c := range l.conns {
		c.mu.Lock()
		for _, s := range c.streams {
			if s.epoch != epoch || s.responses == 0 {
				continue
			}
			result.Streams++
			result.Responses += s.responses
			result.Resources += s.total
			result.Removed += s.gone
			if result.MinResources < 0 || s.total < result.MinResources {
				result.MinResources = s.total
			}
			if result.MinResponses < 0 || s.responses < result.MinResponses {
				result.MinResponses = s.responses
			}
			result.MaxResources = max(result.MaxResources, s.total)
			result.MaxResponses = max(result.MaxResponses, s.responses)
		}
		c.mu.Unlock()
	}
	if last := l.lastAck.Load(); last > l.marked.UnixNano() {
		result.Milliseconds = float64(last-l.marked.UnixNano()) / 1e6
	}
	return result
}

func (l *load) digests() any {
	type digest struct {
		Digest  uint32 `json:"digest"`
		Streams int    `json:"streams"`
		Slow    int    `json:"slow"`
	}
	found := map[uint32]*digest{}
	for _, c := range l.conns {
		c.mu.Lock()
		for _, s := range c.streams {
			entry := found[s.digest]
			if entry == nil {
				entry = &digest{Digest: s.digest}
				found[s.digest] = entry
			}
			entry.Streams++
			if s.slow {
				entry.Slow++
			}
		}
		c.mu.Unlock()
	}
	list := []*digest{}
	for _, entry := range found {
		list = append(list, entry)
	}
	return list
}

func (l *load) latencies() any {
	l.track.Lock()
	defer l.track.Unlock()
	return append([]arrival{}, l.seen...)
}

func (l *load) close() {
	for _, c := range l.conns {
		c.mu.Lock()
		c.closed = true
		c.socket.Close()
		c.mu.Unlock()
	}
	l.conns = nil
	l.streams = nil
}

// readNames are the names in a file of length-delimited envoy.service.discovery.v3.Resource.
func readNames(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	var names []string
	for {
		size, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		message := make([]byte, size)
		if _, err := io.ReadFull(in, message); err != nil {
			return nil, err
		}
		names = append(names, string(fieldOf(message, 3)))
	}
}

func (l *load) open(o *openOptions) error {
	if len(l.conns) > 0 {
		return errors.New("streams are open already")
	}
	var names []string
	if o.PerStream > 0 {
		var err error
		if names, err = readNames(o.Fixtures); err != nil {
			return err
		}
	}
	l.options = *o
	l.typeURL = []byte(o.TypeURL)
	l.failed, l.failOnce, l.err = make(chan struct{}), sync.Once{}, nil
	l.seen = nil
	l.throttled.Store(false)
	if o.Record {
		l.recorded = nil
	}
	path := "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	if o.Incremental {
		path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	}

	fast := o.Streams - o.Slow
	fastConns := min(o.Connections, fast)
	conns := make([]*conn, fastConns+o.Slow)
	var group sync.WaitGroup
	var dialError error
	var dialMu sync.Mutex
	atATime := 32
	if o.PerSecond > 0 {
		// A server that is slow to answer must not slow the herd.
		atATime = len(conns)
	}
	slots := make(chan struct{}, atATime)
	l.streams = make([]*stream, o.Streams)
	for i := range l.streams {
		s := &stream{index: i, slow: i >= fast}
		if o.Track || (o.Record && i == 0) {
			s.state = map[string]uint32{}
		}
		l.streams[i] = s
	}
	begin := time.Now()
	for i := range conns {
		if o.PerSecond > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(o.PerSecond))))
		}
		group.Add(1)
		slots <- struct{}{}
		go func() {
			defer group.Done()
			defer func() { <-slots }()
			connWindow, streamWindow, bytesPerSec := o.ConnectionWindow, o.StreamWindow, 0
			if i >= fastConns {
				connWindow, streamWindow, bytesPerSec = defaultWindow, 16<<10, o.SlowBytes
			}
			c, err := dial(l, o.Address, connWindow, streamWindow, bytesPerSec)
			if err == nil {
				select {
				case <-c.settings:
				case <-time.After(20 * time.Second):
					err = errors.New("the server sent no SETTINGS within 20 s")
				}
			}
			if err != nil {
				dialMu.Lock()
				dialError = err
				dialMu.Unlock()
				return
			}
			conns[i] = c
			if o.PerSecond > 0 {
				if err := l.ask(c, l.streams[i], path, names); err != nil {
					l.fail(err)
				}
			}
		}()
	}
	group.Wait()
	for _, c := range conns {
		if c != nil {
			l.conns = append(l.conns, c)
		}
	}
	if dialError != nil {
		return fmt.Errorf("cannot connect to %s: %w", o.Address, dialError)
	}

	if o.PerSecond > 0 {
		return nil
	}
	for i, s := range l.streams {
		c := l.conns[i%max(fastConns, 1)]
		if s.slow {
			c = l.conns[fastConns+i-fast]
		}
		if err := l.ask(c, s, path, names); err != nil {
			return err
		}
	}
	return nil
}

// ask opens a stream and sends its first request.
func (l *load) ask(c *conn, s *stream, path string, names []string) error {
	request := envelope(l.firstRequest(s, names))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request(s, path)
	c.send(s, request)
	return c.out.Flush()
}

func (l *load) firstRequest(s *stream, names []string) []byte {
	o := &l.options
	node := appendText(nil, 1, fmt.Sprintf("client-%d", s.index))
	node = appendText(node, 2, o.Group)
	nameField, nodeField, typeField := 3, 2, 4
	if o.Incremental {
		nameField, nodeField, typeField = 3, 1, 2
	}
	for i := range o.PerStream {
		s.names = appendText(s.names, nameField, names[(s.index*o.Stride+i)%len(names)])
	}
	request := appendField(nil, nodeField, node)
	request = appendText(request, typeField, o.TypeURL)
	request = append(request, s.names...)
	if o.Initial {
		// Each client in another order, as Envoy's hash maps have it.
		for _, i := range rand.New(rand.NewSource(int64(s.index))).Perm(len(l.recorded)) {
			request = append(request, l.recorded[i]...)
		}
	}
	if o.Incremental {
		s.names = nil
	}
	return request
}

func (s *stream) ack() []byte {
	l := s.conn.load
	var request []byte
	if l.options.Incremental {
		request = appendField(request, 2, l.typeURL)
		request = appendField(request, 6, s.nonce)
	} else {
		request = appendField(request, 1, s.version)
		request = append(request, s.names...)
		request = appendField(request, 4, l.typeURL)
		request = appendField(request, 5, s.nonce)
	}
	return envelope(request)
}

// onData walks the bytes of a stream. Only a field that is cut in two is copied.
func (s *stream) onData(data []byte) error {
	s.conn.load.bytes.Add(int64(len(data)))
	if len(s.rest) > 0 {
		s.rest = append(s.rest, data...)
		data = s.rest
	}
	for {
		if !s.inMessage {
			if len(data) < 5 {
				break
			}
			if data[0] != 0 {
				return fmt.Errorf("stream %d: a compressed message, though none was asked for", s.id)
			}
			s.left = int(binary.BigEndian.Uint32(data[1:]))
			s.inMessage = true
			s.resources, s.removed = 0, 0
			s.nonce, s.version = s.nonce[:0], s.version[:0]
			data = data[5:]
		}
		if s.left == 0 {
			s.inMessage = false
			if err := s.onMessage(); err != nil {
				return err
			}
			continue
		}
		field, content, size := nextField(data[:min(len(data), s.left)])
		if size == 0 {
			if len(data) >= s.left {
				return fmt.Errorf("stream %d: a response that is no protobuf", s.id)
			}
			break
		}
		s.left -= size
		s.onField(field, content)
		data = data[size:]
	}
	if len(data) == 0 {
		s.rest = s.rest[:0]
	} else {
		s.rest = append(s.rest[:0], data...)
	}
	return nil
}

func (s *stream) onField(field int, content []byte) {
	switch field {
	case 1:
		s.version = append(s.version[:0], content...)
	case 2:
		s.resources++
		if s.state != nil {
			s.onResource(content)
		}
	case 5:
		s.nonce = append(s.nonce[:0], content...)
	case 6:
		if s.conn.load.options.Incremental {
			s.removed++
			if s.state != nil {
				s.forget(string(content))
			}
		}
	}
}

// Where a cluster of the fixtures says which change made it: this and nine digits. Encoders may order fields
// differently, so that the bytes of a resource are not compared.
var sequenceMark = []byte("seq-")

const sequenceLength = 4 + 9

// onResource remembers what the stream was sent, and which change that was.
func (s *stream) onResource(content []byte) {
	l := s.conn.load
	value, name, version := content, []byte(nil), []byte(nil)
	if l.options.Incremental {
		version = fieldOf(content, 1)
		name = fieldOf(content, 3)
		value = fieldOf(content, 2)
	}
	value = fieldOf(value, 2)
	if !l.options.Incremental {
		name = fieldOf(value, 1)
	}
	if l.options.Record && s.index == 0 {
		entry := appendField(appendField(nil, 1, name), 2, version)
		l.recorded = append(l.recorded, appendField(nil, 5, entry))
	}
	if !l.options.Track {
		return
	}
	at := bytes.Index(value, sequenceMark)
	if at < 0 || len(value) < at+sequenceLength {
		l.fail(fmt.Errorf("stream %d: %s does not say which change made it", s.id, name))
		return
	}
	mark := value[at : at+sequenceLength]
	sum := fnv.New32a()
	sum.Write(name)
	sum.Write(mark)
	s.forget(string(name))
	s.state[string(name)] = sum.Sum32()
	s.digest += sum.Sum32()
	sequence, err := strconv.Atoi(string(mark[len(sequenceMark):]))
	if err != nil {
		l.fail(fmt.Errorf("stream %d: %s: %w", s.id, name, err))
		return
	}
	s.reach(sequence)
}

func (s *stream) forget(name string) {
	if sum, known := s.state[name]; known {
		s.digest -= sum
		delete(s.state, name)
	}
}

// reach notes that a stream has all changes up to one: a server that sends a later one has sent the earlier ones.
func (s *stream) reach(sequence int) {
	if sequence <= s.sequence {
		return
	}
	if !s.slow {
		l := s.conn.load
		now := time.Now().UnixNano()
		l.track.Lock()
		for len(l.seen) <= sequence {
			l.seen = append(l.seen, arrival{})
		}
		for i := s.sequence + 1; i <= sequence; i++ {
			l.seen[i].Streams++
			l.seen[i].Last = now
		}
		l.track.Unlock()
	}
	s.sequence = sequence
}

func (s *stream) onMessage() error {
	l := s.conn.load
	if len(s.nonce) == 0 {
		return fmt.Errorf("stream %d: a response without a nonce", s.id)
	}
	s.conn.send(s, s.ack())
	if epoch := l.epoch.Load(); s.epoch != epoch {
		s.epoch, s.responses, s.total, s.gone = epoch, 0, 0, 0
	}
	had := s.total >= l.wantedResources && s.responses >= l.wantedResponses
	if s.responses == 0 && l.wantedResources == 0 && l.wantedResponses == 0 {
		had = false
	}
	s.responses++
	s.total += int64(s.resources)
	s.gone += int64(s.removed)
	l.responses.Add(1)
	l.resources.Add(int64(s.resources))
	l.lastAck.Store(time.Now().UnixNano())
	if !had && s.total >= l.wantedResources && s.responses >= l.wantedResponses {
		if l.done.Add(1) == l.wantedStreams {
			close(l.reached)
		}
	}
	return nil
}
