package nvml

import (
	"errors"
	"fmt"
)

var (
	// ErrAbsent says that the library is not on this machine: no NVIDIA driver,
	// or a container without it.
	ErrAbsent = errors.New("NVIDIA's management library is not here")
	// ErrNoAnswer says that the driver has not answered in time, or still keeps
	// the call of an earlier Read.
	ErrNoAnswer = errors.New("NVIDIA's driver does not answer")
	// ErrClosed says that the Library was closed.
	ErrClosed = errors.New("NVIDIA's management library was closed")
)

// Code is what the library returned (nvmlReturn_t). It is an error; compare with
// errors.Is.
type Code int32

// The codes that a caller branches on.
const (
	success          Code = 0
	Uninitialized    Code = 1
	InvalidArgument  Code = 2
	NotSupported     Code = 3 // the card does not have it, or does not tell
	NoPermission     Code = 4
	insufficientSize Code = 7
	DriverNotLoaded  Code = 9
	FunctionNotFound Code = 13 // also: the library is too old to have it
	GPUIsLost        Code = 15 // it fell off the bus
	ResetRequired    Code = 16
	OperatingSystem  Code = 17 // blocked by the control group of devices
	VersionMismatch  Code = 18 // the library is of another driver than the loaded kernel module
	argumentVersion  Code = 25
	Unknown          Code = 999
)

var codeText = map[Code]string{
	Uninitialized: "not initialised", InvalidArgument: "invalid argument", NotSupported: "not supported by this card",
	NoPermission: "no permission", 5: "already initialised", 6: "not found", insufficientSize: "insufficient size",
	8: "external power cables are not attached", DriverNotLoaded: "the driver is not loaded", 10: "timeout", 11: "interrupt trouble",
	12: "library not found", FunctionNotFound: "this driver's library does not have the function", 14: "the card's own store of settings is corrupted",
	GPUIsLost: "the card is lost: it fell off the bus", ResetRequired: "the card must be reset", OperatingSystem: "blocked by the operating system",
	VersionMismatch: "the library does not belong to the loaded kernel module", 19: "in use", 20: "out of memory", 21: "no data",
	argumentVersion: "struct version not supported", 26: "deprecated", 27: "not ready", 28: "no cards found", 29: "invalid state",
	Unknown: "unknown error inside the driver",
}

func (c Code) Error() string {
	if text, ok := codeText[c]; ok {
		return text
	}
	return fmt.Sprintf("code %d", int32(c))
}

// CallError is a call that the library refused. It unwraps to its Code.
type CallError struct {
	Call string // name of the C function
	Code Code
}

func (e *CallError) Error() string { return e.Call + ": " + e.Code.Error() }

// Unwrap returns the code.
func (e *CallError) Unwrap() error { return e.Code }
