package script

import (
	"errors"
	"math"
	"reflect"
	"sync"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// rejections are the promises of one engine that were rejected and that nothing handles yet.
// Package quickjs has no way to learn of them, but the engine below it does.
type rejections struct {
	tls     *libc.TLS
	context uintptr
	report  libquickjs.TJSValue               // the function of the prelude that is given an error that nothing caught
	open    map[libquickjs.TJSValue]rejection // by promise
	last    int                               // the number of the last one

	// Arguments of calls: what the heap of Go holds does not move.
	argument libquickjs.TJSValue
	usage    libquickjs.TJSMemoryUsage
}

// rejection holds a reference to its promise and to its reason, so that the memory of neither is used again.
type rejection struct {
	no     int
	reason libquickjs.TJSValue
}

// trackers finds the rejections of an engine in its callback, by the address of its runtime.
var trackers struct {
	sync.Mutex
	of map[uintptr]*rejections
}

var errHidden = errors.New("this version of quickjs hides its engine elsewhere")

// track begins to note the rejections of a VM whose prelude has run.
func track(vm *quickjs.VM) (*rejections, error) {
	// Its fields are not exported. The version of the package is pinned, and without them no script starts.
	context, run := reflect.ValueOf(vm).Elem().FieldByName("cContext"), reflect.ValueOf(vm).Elem().FieldByName("runtime")
	if context.Kind() != reflect.Uintptr || run.Kind() != reflect.Pointer {
		return nil, errHidden
	}
	tls := run.Elem().FieldByName("tls")
	if !tls.IsValid() || tls.Type() != reflect.TypeFor[*libc.TLS]() {
		return nil, errHidden
	}
	r := &rejections{tls: (*libc.TLS)(tls.UnsafePointer()), context: uintptr(context.Uint()), open: map[libquickjs.TJSValue]rejection{}}

	name, err := libc.CString("__failed")
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(r.tls, name)
	global := libquickjs.XJS_GetGlobalObject(r.tls, r.context)
	r.report = libquickjs.XJS_GetPropertyStr(r.tls, r.context, global, name)
	libquickjs.XFreeValue(r.tls, r.context, global)
	if libquickjs.XJS_IsFunction(r.tls, r.context, r.report) == 0 {
		return nil, errors.New("the prelude has no function __failed")
	}

	key := libquickjs.XJS_GetRuntime(r.tls, r.context)
	trackers.Lock()
	defer trackers.Unlock()
	if trackers.of == nil {
		trackers.of = map[uintptr]*rejections{}
	}
	trackers.of[key] = r
	callback := noteRejection
	libquickjs.XJS_SetHostPromiseRejectionTracker(r.tls, key, *(*uintptr)(unsafe.Pointer(&callback)), key)
	return r, nil
}

// noteRejection is called with a promise that is rejected while nothing handles it, and again once
// something does. It runs on the goroutine of the VM.
func noteRejection(tls *libc.TLS, context uintptr, promise, reason libquickjs.TJSValue, handled int32, key uintptr) {
	trackers.Lock()
	r := trackers.of[key]
	trackers.Unlock()
	if r == nil {
		return
	}
	if handled == 0 {
		r.last++
		r.open[libquickjs.XDupValue(tls, context, promise)] = rejection{r.last, libquickjs.XDupValue(tls, context, reason)}
	} else if _, ok := r.open[promise]; ok {
		r.forget(promise)
	}
}

func (r *rejections) forget(promise libquickjs.TJSValue) {
	reason := r.open[promise].reason
	delete(r.open, promise)
	libquickjs.XFreeValue(r.tls, r.context, reason)
	libquickjs.XFreeValue(r.tls, r.context, promise)
}

// raise gives the first of the rejections that nothing handles to the prelude, as an error that
// nothing caught. There must be one.
func (r *rejections) raise() {
	first := rejection{no: math.MaxInt}
	for _, open := range r.open {
		if open.no < first.no {
			first = open
		}
	}
	r.argument = first.reason
	result := libquickjs.XJS_Call(r.tls, r.context, r.report, r.report, 1, uintptr(unsafe.Pointer(&r.argument)))
	libquickjs.XFreeValue(r.tls, r.context, result)
}

// heapBytes is what the data of the script takes now. It walks the whole heap.
func (r *rejections) heapBytes() int64 {
	libquickjs.XJS_ComputeMemoryUsage(r.tls, libquickjs.XJS_GetRuntime(r.tls, r.context), uintptr(unsafe.Pointer(&r.usage)))
	return r.usage.Fmalloc_size
}

// close gives back what is held of the VM, which is to be closed afterwards.
func (r *rejections) close() {
	for promise := range r.open {
		r.forget(promise)
	}
	libquickjs.XFreeValue(r.tls, r.context, r.report)
	trackers.Lock()
	defer trackers.Unlock()
	delete(trackers.of, libquickjs.XJS_GetRuntime(r.tls, r.context))
}
