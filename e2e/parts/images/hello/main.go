// The demo's server: says which pod on which node answers, over HTTP, and that it is well, over gRPC. Ends at once when it is told to.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		log.Printf("got %s, good bye", <-signals)
		os.Exit(0)
	}()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		log.Printf("%s %s from %s", r.Method, r.URL.Path, r.RemoteAddr)
		fmt.Fprintf(w, "Hello from pod %s on node %s\n", os.Getenv("POD_NAME"), os.Getenv("NODE_NAME"))
	})
	http.HandleFunc("/grpc.health.v1.Health/Check", serving)
	server := http.Server{Addr: ":8080", Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // as gRPC speaks it
	log.Print("listening on port 8080")
	log.Fatal(server.ListenAndServe())
}

// Answers any gRPC health check with a HealthCheckResponse whose status (field 1) is SERVING (1).
func serving(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	w.Write([]byte{0, 0, 0, 0, 2, 0x08, 1}) // not compressed, two bytes long, the message
	w.Header().Set("Grpc-Status", "0")
}
