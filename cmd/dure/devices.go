package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dure/inference/device"
	"dure/inference/engine"
)

const (
	// watchEvery is how often a server looks at the devices, watchBytes by how
	// much other programs' memory must have moved to be worth a line.
	watchEvery = 15 * time.Second
	watchBytes = 256 << 20
)

// engineDevices are the engine's devices as package device wants them.
func engineDevices(seen []engine.Device) []device.EngineDevice {
	var all []device.EngineDevice
	for _, d := range seen {
		all = append(all, device.EngineDevice{Name: d.Name, Description: d.Description, Kind: d.Kind, Backend: d.Backend,
			PCI: d.PCI, FreeBytes: d.FreeBytes, TotalBytes: d.TotalBytes})
	}
	return all
}

// lookAround reads the machine's devices once. own are runners on a card.
func lookAround(ctx context.Context, reader *device.Reader, seen []engine.Device, own []int) (device.Sources, []device.Device) {
	s := reader.Read(ctx, engineDevices(seen), own)
	return s, device.Merge(s)
}

// deviceLine is a device in a line for people.
func deviceLine(d device.Device) string {
	parts := []string{string(d.Kind)}
	if d.PCI != "" {
		parts = append(parts, d.PCI)
	}
	if d.Driver != "" {
		parts = append(parts, "driver "+strings.TrimSpace(d.Driver+" "+d.DriverVersion))
	}
	if d.Compute != "" {
		parts = append(parts, d.Compute)
	}
	if d.Total.Known {
		memory := size(int64(d.Total.Value))
		if d.Free.Known {
			memory += ", " + size(int64(d.Free.Value)) + " free"
		}
		if d.Others.Known && d.Others.Value > 0 {
			memory += ", " + size(int64(d.Others.Value)) + " held by others"
		}
		parts = append(parts, memory)
	} else if d.Total.Why != "" {
		parts = append(parts, "memory not known: "+d.Total.Why)
	}
	if d.Temperature.Known {
		parts = append(parts, fmt.Sprintf("%.0f °C", d.Temperature.Value))
	}
	if d.Power.Known {
		parts = append(parts, fmt.Sprintf("%.0f W", d.Power.Value))
	}
	for _, s := range d.Seen {
		parts = append(parts, "engine device "+s.Name)
	}
	if d.Lost != "" {
		parts = append(parts, "LOST: "+d.Lost)
	}
	return d.Name + " (" + strings.Join(parts, "; ") + ")"
}

// devices are the machine's as they are now.
func (h *host) devices(ctx context.Context) []device.Device {
	_, all := lookAround(ctx, h.cards, h.engine.Devices, h.ownOnCards())
	return all
}

// watchDevices logs what changes on the devices until stop is called, which waits
// for the last look: memory that other programs take, cards that are lost or come
// back.
func (h *host) watchDevices(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.watch(ctx)
	}()
	return func() { cancel(); <-done }
}

func (h *host) watch(ctx context.Context) {
	report := func(_ []device.Device, changes []device.Change) {
		for _, c := range changes {
			level := slog.LevelInfo
			if c.Kind == device.DeviceLost || c.Kind == device.OthersChanged {
				level = slog.LevelWarn
			}
			h.log.Log(ctx, level, "device changed", "problem", c.What)
		}
	}
	if err := device.Watch(ctx, watchEvery, watchBytes, h.devices, report); err != nil && ctx.Err() == nil {
		h.log.Warn("devices are not watched any more", "error", err)
	}
}

// ownOnCards are the processes of loaded models that are on a card.
func (h *host) ownOnCards() []int {
	var pids []int
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.placed {
		if p.pid > 0 && p.layers != 0 {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// deviceCollector tells the devices' figures when scraped.
type deviceCollector struct{ h *host }

func deviceDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("dure_device_"+name, help, []string{"device", "name"}, nil)
}

var deviceFigures = []struct {
	desc *prometheus.Desc
	of   func(device.Device) (float64, bool)
}{
	{deviceDesc("memory_total_bytes", "Memory of a device."), bytesOf(func(d device.Device) device.Reading[uint64] { return d.Total })},
	{deviceDesc("memory_free_bytes", "Of it, what is free."), bytesOf(func(d device.Device) device.Reading[uint64] { return d.Free })},
	{deviceDesc("memory_others_bytes", "Of it, what other programs hold."), bytesOf(func(d device.Device) device.Reading[uint64] { return d.Others })},
	{deviceDesc("temperature_celsius", "Temperature of a device."), func(d device.Device) (float64, bool) { return d.Temperature.Value, d.Temperature.Known }},
	{deviceDesc("power_watts", "Power that a device draws."), func(d device.Device) (float64, bool) { return d.Power.Value, d.Power.Known }},
	{deviceDesc("utilisation_ratio", "Share of the time that a device computes."), func(d device.Device) (float64, bool) {
		return float64(d.Utilisation.Value) / 100, d.Utilisation.Known
	}},
	{deviceDesc("lost", "1 for a card that does not answer any more."), func(d device.Device) (float64, bool) {
		if d.Lost != "" {
			return 1, true
		}
		return 0, true
	}},
}

func bytesOf(of func(device.Device) device.Reading[uint64]) func(device.Device) (float64, bool) {
	return func(d device.Device) (float64, bool) { r := of(d); return float64(r.Value), r.Known }
}

// Describe implements prometheus.Collector.
func (deviceCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range deviceFigures {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector. What is not known is left out.
func (c deviceCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for _, d := range c.h.devices(ctx) {
		for _, f := range deviceFigures {
			if v, known := f.of(d); known {
				ch <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, v, d.ID, d.Name)
			}
		}
	}
}
