package main

import "encoding/binary"

// The protobuf wire format, as far as it is needed.

func appendField(to []byte, field int, content []byte) []byte {
	to = binary.AppendUvarint(to, uint64(field)<<3|2)
	to = binary.AppendUvarint(to, uint64(len(content)))
	return append(to, content...)
}

func appendText(to []byte, field int, text string) []byte {
	to = binary.AppendUvarint(to, uint64(field)<<3|2)
	to = binary.AppendUvarint(to, uint64(len(text)))
	return append(to, text...)
}

// nextField reads one field. size is what it takes in all; 0: there is not enough. Fixed-size fields do not occur in
// what is read here.
func nextField(bytes []byte) (field int, content []byte, size int) {
	tag, tagSize := binary.Uvarint(bytes)
	if tagSize <= 0 {
		return 0, nil, 0
	}
	value, valueSize := binary.Uvarint(bytes[tagSize:])
	if valueSize <= 0 {
		return 0, nil, 0
	}
	start := tagSize + valueSize
	if tag&7 == 0 {
		return int(tag >> 3), nil, start
	}
	end := start + int(value)
	if len(bytes) < end {
		return 0, nil, 0
	}
	return int(tag >> 3), bytes[start:end], end
}

// fieldOf is the content of the first such field of a message.
func fieldOf(message []byte, wanted int) []byte {
	for len(message) > 0 {
		field, content, size := nextField(message)
		if size == 0 {
			return nil
		}
		if field == wanted {
			return content
		}
		message = message[size:]
	}
	return nil
}

// envelope puts gRPC's prefix before a message.
func envelope(message []byte) []byte {
	framed := make([]byte, 5, 5+len(message))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(message)))
	return append(framed, message...)
}
