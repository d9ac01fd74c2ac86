package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// HTTP/2 by hand: one connection with the streams of its clients.

const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
	flagPadded     = 8

	settingInitialWindow = 4
	settingMaxFrame      = 5

	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	defaultWindow = 65535
)

type conn struct {
	load   *load
	socket net.Conn

	// Held while a frame is dealt with, and by commands.
	mu            sync.Mutex
	out           *bufio.Writer
	streams       map[uint32]*stream
	window        int // what the server lets us send
	initialWindow int // the same for a new stream
	maxFrame      int
	waiting       []*stream // with bytes that no window was left for
	received      int       // not yet given back to the server's window
	receiveWindow int
	streamWindow  int
	bytesPerSec   int // while the load is throttled; 0: as fast as it goes
	settings      chan struct{}
	closed        bool
}

func dial(l *load, address string, connWindow, streamWindow, bytesPerSec int) (*conn, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	readBuffer := 64 << 10
	if bytesPerSec > 0 {
		// What the kernel keeps counts as read for the server.
		readBuffer = 4 << 10
		if err := socket.(*net.TCPConn).SetReadBuffer(8 << 10); err != nil {
			return nil, err
		}
	}
	c := &conn{
		load: l, socket: socket, out: bufio.NewWriterSize(socket, 32<<10), streams: map[uint32]*stream{},
		window: defaultWindow, initialWindow: defaultWindow, maxFrame: 16384,
		receiveWindow: connWindow, streamWindow: streamWindow, bytesPerSec: bytesPerSec, settings: make(chan struct{}),
	}
	c.out.WriteString(preface)
	var settings []byte
	settings = binary.BigEndian.AppendUint16(settings, settingInitialWindow)
	settings = binary.BigEndian.AppendUint32(settings, uint32(streamWindow))
	c.frame(frameSettings, 0, 0, settings)
	if connWindow > defaultWindow {
		c.windowUpdate(0, connWindow-defaultWindow)
	} else {
		c.receiveWindow = defaultWindow
	}
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	go c.read(bufio.NewReaderSize(socket, readBuffer))
	return c, nil
}

func (c *conn) frame(kind, flags byte, id uint32, payload []byte) {
	var head [9]byte
	head[0], head[1], head[2] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload))
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], id)
	c.out.Write(head[:])
	c.out.Write(payload)
}

func (c *conn) windowUpdate(id uint32, bytes int) {
	var payload [4]byte
	binary.BigEndian.PutUint32(payload[:], uint32(bytes))
	c.frame(frameWindowUpdate, 0, id, payload[:])
}

// request opens a gRPC stream; called with the lock held.
func (c *conn) request(s *stream, path string) {
	s.id = uint32(2*len(c.streams) + 1)
	s.conn = c
	s.window = c.initialWindow
	c.streams[s.id] = s
	// Literals without indexing: the same bytes every time, and no state.
	var block []byte
	for _, header := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "xds"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		block = append(block, 0)
		for _, text := range header {
			block = append(block, byte(len(text)))
			block = append(block, text...)
		}
	}
	c.frame(frameHeaders, flagEndHeaders, s.id, block)
}

// send writes a message of a stream, as far as the windows let it; called with the lock held.
func (c *conn) send(s *stream, bytes []byte) {
	if len(s.pending) == 0 {
		bytes = c.sendSome(s, bytes)
		if len(bytes) == 0 {
			return
		}
		c.waiting = append(c.waiting, s)
	}
	s.pending = append(s.pending, bytes...)
}

func (c *conn) sendSome(s *stream, bytes []byte) []byte {
	for len(bytes) > 0 {
		size := min(len(bytes), c.maxFrame, c.window, s.window)
		if size <= 0 {
			return bytes
		}
		c.frame(frameData, 0, s.id, bytes[:size])
		c.window -= size
		s.window -= size
		bytes = bytes[size:]
	}
	return nil
}

func (c *conn) sendWaiting() {
	waiting := c.waiting
	c.waiting = nil
	for _, s := range waiting {
		s.pending = c.sendSome(s, s.pending)
		if len(s.pending) > 0 {
			c.waiting = append(c.waiting, s)
		} else {
			s.pending = nil
		}
	}
}

func (c *conn) read(in *bufio.Reader) {
	err := c.readFrames(in)
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if !closed {
		c.load.fail(fmt.Errorf("connection to the server lost: %w", err))
	}
}

func (c *conn) readFrames(in *bufio.Reader) error {
	var long []byte
	for {
		head, err := in.Peek(9)
		if err != nil {
			return err
		}
		size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		kind, flags, id := head[3], head[4], binary.BigEndian.Uint32(head[5:])&0x7fffffff
		in.Discard(9)
		var payload []byte
		if size <= in.Size() {
			if payload, err = in.Peek(size); err != nil {
				return err
			}
		} else {
			if cap(long) < size {
				long = make([]byte, size)
			}
			payload = long[:size]
			if _, err = io.ReadFull(in, payload); err != nil {
				return err
			}
		}
		c.mu.Lock()
		err = c.onFrame(kind, flags, id, payload)
		if size <= in.Size() {
			in.Discard(size)
		}
		// What several frames gave cause to write goes out together, as clients do it.
		if err == nil && in.Buffered() < 9 && c.out.Buffered() > 0 {
			err = c.out.Flush()
		}
		c.mu.Unlock()
		if err != nil {
			return err
		}
		if c.bytesPerSec > 0 && c.load.throttled.Load() {
			time.Sleep(time.Duration(size) * time.Second / time.Duration(c.bytesPerSec))
		}
	}
}

func (c *conn) onFrame(kind, flags byte, id uint32, payload []byte) error {
	switch kind {
	case frameData:
		s := c.streams[id]
		if s == nil {
			return fmt.Errorf("DATA on a stream that was not opened: %d", id)
		}
		c.received += len(payload)
		s.received += len(payload)
		if c.received > c.receiveWindow/2 {
			c.windowUpdate(0, c.received)
			c.received = 0
		}
		if s.received > c.streamWindow/2 {
			c.windowUpdate(id, s.received)
			s.received = 0
		}
		if flags&flagPadded != 0 {
			return errors.New("padded DATA is not supported")
		}
		return s.onData(payload)
	case frameHeaders:
		if flags&flagEndStream != 0 {
			return fmt.Errorf("the server ended stream %d", id)
		}
	case frameReset:
		return fmt.Errorf("the server reset stream %d with error code %d", id, binary.BigEndian.Uint32(payload))
	case frameSettings:
		if flags&flagAck != 0 {
			return nil
		}
		for at := 0; at+6 <= len(payload); at += 6 {
			value := int(binary.BigEndian.Uint32(payload[at+2:]))
			switch binary.BigEndian.Uint16(payload[at:]) {
			case settingInitialWindow:
				for _, s := range c.streams {
					s.window += value - c.initialWindow
				}
				c.initialWindow = value
			case settingMaxFrame:
				c.maxFrame = value
			}
		}
		c.frame(frameSettings, flagAck, 0, nil)
		select {
		case <-c.settings:
		default:
			close(c.settings)
		}
		c.sendWaiting()
	case framePing:
		if flags&flagAck == 0 {
			c.frame(framePing, flagAck, 0, payload)
		}
	case frameGoAway:
		return fmt.Errorf("the server closes the connection (GOAWAY), error code %d: %s",
			binary.BigEndian.Uint32(payload[4:]), printable(payload[8:]))
	case frameWindowUpdate:
		more := int(binary.BigEndian.Uint32(payload))
		if id == 0 {
			c.window += more
		} else if s := c.streams[id]; s != nil {
			s.window += more
		}
		c.sendWaiting()
	}
	return nil
}

// printable is the text of a server's reason, without what would garble a terminal.
func printable(bytes []byte) string {
	text := make([]byte, 0, len(bytes))
	for _, b := range bytes {
		if b >= 32 && b < 127 {
			text = append(text, b)
		}
	}
	return string(text)
}
