// A client on the SPDY library that kubectl and the API server use, against a server that echoes every stream.
// Prints "ok" and exits with 0 when everything came back.
package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/moby/spdystream"
)

const timeout = 20 * time.Second

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func run(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	client, err := spdystream.NewConnection(conn, false)
	if err != nil {
		return err
	}
	go client.Serve(spdystream.NoOpStreamHandler)

	// One after another: each needs its reply to be readable at once.
	for i := 0; i < 500; i++ {
		if err := echo(client, i, []byte(fmt.Sprintf("hello %d", i))); err != nil {
			return fmt.Errorf("stream %d: %w", i, err)
		}
	}
	if _, err := client.Ping(); err != nil {
		return err
	}

	// Side by side, and large.
	payload := make([]byte, 3<<20)
	if _, err := rand.Read(payload); err != nil {
		return err
	}
	failures := make(chan error, 20)
	var group sync.WaitGroup
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := echo(client, 1000+i, payload[i:]); err != nil {
				failures <- fmt.Errorf("parallel stream %d: %w", i, err)
			}
		}()
	}
	group.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}

	// GOAWAY: returns when the server has closed, too.
	client.SetCloseTimeout(timeout)
	return client.CloseWait()
}

func echo(client *spdystream.Connection, number int, payload []byte) error {
	headers := http.Header{}
	headers.Set("streamtype", "data")
	headers.Set("requestid", fmt.Sprint(number))
	stream, err := client.CreateStream(headers, nil, false)
	if err != nil {
		return err
	}
	if err := stream.WaitTimeout(timeout); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.Copy(stream, bytes.NewReader(payload))
		if err == nil {
			err = stream.Close()
		}
		written <- err
	}()
	answer, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	if err := <-written; err != nil {
		return err
	}
	if !bytes.Equal(answer, payload) {
		return fmt.Errorf("%d bytes came back, %d were sent", len(answer), len(payload))
	}
	return nil
}
