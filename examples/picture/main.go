// Command picture is the tool of the thumbnail examples: it generates pictures, shrinks them
// and puts them on a sheet. It stands for any program that a step may run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/image/draw"

	_ "image/gif"
	_ "image/jpeg"
)

const (
	usage = `picture generate -count N -out DIR
picture thumbnail -size PIXELS -out DIR FILE…
picture sheet -columns N -out FILE FILE…`
	maxPixels = 100_000_000
	cell      = 170
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("picture "+args[0], flag.ContinueOnError)
	count := flags.Int("count", 12, "pictures to generate")
	size := flags.Int("size", 160, "longest side of a thumbnail in pixels")
	columns := flags.Int("columns", 4, "pictures in a row")
	out := flags.String("out", ".", "folder or file to write")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "generate":
		return generate(*count, *out)
	case "thumbnail":
		return thumbnails(*size, *out, flags.Args())
	case "sheet":
		return sheet(*columns, *out, flags.Args())
	}
	return errors.New(usage)
}

// generate draws pictures of different sizes and colours.
func generate(count int, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for n := range count {
		width, height := 400+40*(n%5), 300+30*(n%7)
		picture := image.NewRGBA(image.Rect(0, 0, width, height))
		for y := range height {
			for x := range width {
				dx, dy := x-width/2, y-height/2
				ring := uint8((dx*dx + dy*dy) / (60 + 10*n))
				picture.SetRGBA(x, y, color.RGBA{ring, uint8(x * 255 / width), uint8(n * 20), 255})
			}
		}
		if err := save(filepath.Join(dir, fmt.Sprintf("picture-%02d.png", n+1)), picture); err != nil {
			return err
		}
	}
	return nil
}

func thumbnails(size int, dir string, files []string) error {
	if size < 1 || len(files) == 0 {
		return errors.New(usage)
	}
	for _, file := range files {
		picture, err := load(file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + "-thumbnail.png"
		if err := save(filepath.Join(dir, name), fit(picture, size)); err != nil {
			return err
		}
	}
	return nil
}

func sheet(columns int, out string, files []string) error {
	if columns < 1 || len(files) == 0 {
		return errors.New(usage)
	}
	rows := (len(files) + columns - 1) / columns
	all := image.NewRGBA(image.Rect(0, 0, cell*columns, cell*rows))
	draw.Draw(all, all.Bounds(), image.White, image.Point{}, draw.Src)
	for i, file := range files {
		picture, err := load(file)
		if err != nil {
			return err
		}
		small := fit(picture, cell-10)
		at := image.Pt(cell*(i%columns)+5, cell*(i/columns)+5)
		draw.Draw(all, small.Bounds().Add(at), small, image.Point{}, draw.Src)
	}
	return save(out, all)
}

func load(file string) (image.Image, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	config, _, err := image.DecodeConfig(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	if config.Width*config.Height > maxPixels {
		return nil, fmt.Errorf("%s: %d × %d pixels are too many", filepath.Base(file), config.Width, config.Height)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	picture, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return picture, nil
}

// fit scales a picture so that its longest side is size.
func fit(picture image.Image, size int) *image.RGBA {
	b := picture.Bounds()
	longest := max(b.Dx(), b.Dy())
	small := image.NewRGBA(image.Rect(0, 0, max(1, b.Dx()*size/longest), max(1, b.Dy()*size/longest)))
	draw.CatmullRom.Scale(small, small.Bounds(), picture, b, draw.Src, nil)
	return small
}

func save(file string, picture image.Image) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := png.Encode(f, picture); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
