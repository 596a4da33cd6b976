package background

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopNamesWhatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup()
		hang := make(chan struct{})
		g.Start("in time", func(ctx context.Context) { <-ctx.Done() })
		g.Start("never in time", func(context.Context) { <-hang })
		g.Start("never in time", func(context.Context) { <-hang })
		g.Start("also late", func(context.Context) { <-hang })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := g.Stop(ctx)
		if want := "stop: also late, never in time did not return in time"; err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("Stop took %v", took)
		}
		g.Start("after the stop", func(context.Context) { t.Error("a service was started after Stop") })
		close(hang)
		if err := g.Stop(context.Background()); err != nil {
			t.Errorf("all have returned; the error is %v", err)
		}
	})
}

func TestDrainIsClosedAndEmptied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Drain
		if !d.Enter() {
			t.Fatal("a new drain is closed")
		}
		d.Close()
		if d.Enter() {
			t.Error("a closed drain lets in")
		}
		d.Add()
		d.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if d.Wait(ctx) {
			t.Error("it is said to be empty")
		}
		go func() { time.Sleep(time.Minute); d.Leave() }()
		if !d.Wait(t.Context()) {
			t.Error("it is said not to be empty")
		}
	})
}

func TestGraceEndsLaterThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		final, release := Grace(ctx, time.Second)
		defer release()
		<-final.Done()
		if took := time.Since(began); took != time.Minute+time.Second {
			t.Errorf("it ended after %v", took)
		}
		unused, release := Grace(ctx, time.Hour)
		release()
		if unused.Err() == nil {
			t.Error("a released context has not ended")
		}
	})
}
