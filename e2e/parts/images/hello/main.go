// The demo's server: says which pod on which node answers, and ends at once when it is told to.
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
	log.Print("listening on port 8080")
	log.Fatal(http.ListenAndServe(":8080", nil))
}
