package container

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// copyIn makes IN_DIR with its files and an empty OUT_DIR in a container. Whatever user the
// image names may read the one and write the other.
func (r *Runner) copyIn(ctx context.Context, id string, local folders) error {
	reader, writer := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(writer, local.in)
		writer.CloseWithError(err)
		packed <- err
	}()
	_, err := r.engine.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: reader})
	reader.Close() // ends the goroutine where the engine did not read to the end
	if packErr := <-packed; err == nil && packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		err = packErr
	}
	return err
}

func pack(w io.Writer, in string) error {
	archive := tar.NewWriter(w)
	root := strings.TrimPrefix(mountPoint, "/")
	for _, dir := range []struct {
		name string
		mode int64
	}{{root, 0o755}, {root + "/in", 0o755}, {root + "/out", 0o777}} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name + "/", Mode: dir.mode}); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(in)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := packFile(archive, filepath.Join(in, entry.Name()), path.Join(root, "in", entry.Name())); err != nil {
			return err
		}
	}
	return archive.Close()
}

func packFile(archive *tar.Writer, local, name string) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// outError is a limit that the files of a container ran into.
type outError string

func (e outError) Error() string { return string(e) }

// maxEntries bounds the files and folders that are looked at in OUT_DIR.
const maxEntries = 10_000

// copyOut brings what a container left in OUT_DIR here.
func (r *Runner) copyOut(ctx context.Context, id string, local folders) *machine.Fault {
	err := within(ctx, r.cfg.CopyTime, func(ctx context.Context) error {
		from, err := r.engine.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: mountPoint + "/out"})
		if cerrdefs.IsNotFound(err) {
			return nil // the process removed it
		}
		if err != nil {
			return err
		}
		defer from.Content.Close()
		return r.unpack(from.Content, local.out)
	})
	var limit outError
	if errors.As(err, &limit) {
		return runtimeFault("Files cannot be collected", limit.Error())
	}
	if err != nil {
		return r.failed(ctx, "copy files out of the container", err)
	}
	return nil
}

// unpack writes the regular files of an archive, whose entries are below out/, to a folder.
// Links, devices and names that lead out of the folder are left out.
func (r *Runner) unpack(content io.Reader, out string) error {
	root, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(content)
	left := r.cfg.Limits.DiskBytes
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entries > maxEntries {
			return outError(fmt.Sprintf("the container left more than %d files and folders in OUT_DIR; pack them", maxEntries))
		}
		_, name, _ := strings.Cut(path.Clean(header.Name), "/")
		if header.Typeflag != tar.TypeReg || name == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if header.Size > r.cfg.Limits.FileBytes {
			return outError(fmt.Sprintf("the file %s in OUT_DIR has %d bytes; at most %d are collected", excerpt.Clip(strings.TrimSpace(name), clipBytes), header.Size, r.cfg.Limits.FileBytes))
		}
		if left -= header.Size; left < 0 {
			return outError(fmt.Sprintf("the container left more than %d bytes in OUT_DIR", r.cfg.Limits.DiskBytes))
		}
		if err := writeBelow(root, name, archive); err != nil {
			return err
		}
	}
}

func writeBelow(root *os.Root, name string, content io.Reader) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // an archive that names a file twice; the first one stays
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
