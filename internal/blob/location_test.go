package blob_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/blob"
)

func TestParseLocation(t *testing.T) {
	cases := map[string]blob.Location{
		"s3://b":       {Bucket: "b"},
		"s3://my.b-1/": {Bucket: "my.b-1"},
		"s3://b?region=eu-central-1&prefix=/a/b/":                  {Bucket: "b", Region: "eu-central-1", Prefix: "a/b/"},
		"s3://b?endpoint=http://127.0.0.1:7070":                    {Bucket: "b", Endpoint: "http://127.0.0.1:7070", PathStyle: true},
		"s3://b?endpoint=https://s3.example.com/&path_style=false": {Bucket: "b", Endpoint: "https://s3.example.com"},
		"s3://b?path_style=true":                                   {Bucket: "b", PathStyle: true},
		"file:///var/lib/files/":                                   {Folder: "/var/lib/files"},
		"file://localhost/files":                                   {Folder: "/files"},
	}
	for address, want := range cases {
		if got, err := blob.ParseLocation(address); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", address, got, err, want)
		}
	}
}

func TestParseLocationRefuses(t *testing.T) {
	for address, says := range map[string]string{
		"":                               "scheme",
		"/var/lib":                       "scheme",
		"https://b":                      "scheme",
		"s3://":                          "bucket",
		"s3:b":                           "bucket",
		"s3://b:80":                      "bucket",
		"s3://b/folder":                  "prefix",
		"s3://b#x":                       "#",
		"s3://b?regoin=x":                "parameter",
		"s3://b?region=a&region=b":       "twice",
		"s3://b?region=%zz":              "parameters",
		"s3://b?path_style=yes":          "path_style",
		"s3://b?prefix=a//b":             "prefix",
		"s3://b?prefix=../b":             "prefix",
		"s3://b?prefix=a%20b":            "prefix",
		"s3://b?endpoint=127.0.0.1:7070": "endpoint",
		"s3://b?endpoint=ftp://h":        "endpoint",
		"s3://b?endpoint=http://h?a=b":   "endpoint",
		"file://folder":                  "three slashes",
		"file:///":                       "absolute",
		"file:relative":                  "absolute",
		"file:///folder?create=true":     "parameters",
		"s3://b?prefix=" + strings.Repeat("p", 600): "512",
	} {
		if l, err := blob.ParseLocation(address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v, want an error with %q", address, l, err, says)
		}
	}
}

func TestParseLocationNeverRepeatsCredentials(t *testing.T) {
	const sensitive = "S3cr3t"
	for _, address := range []string{
		"s3://AKIA:S3cr3t@b", "s3://AKIA:S3cr3t/x@b", "s3://AKIA:S3cr3t%@b", "s3://S3cr3t@b?region=x",
		"s3://b?endpoint=http://user:S3cr3t@host", "s3://b?endpoint=http://user:S3cr3t%25@ho st",
		"s3://b?access_key=AKIA&secret_key=S3cr3t", "s3://b?aws_secret_access_key=S3cr3t", "s3://b?SessionToken=S3cr3t", "s3://b?password=S3cr3t",
	} {
		_, err := blob.ParseLocation(address)
		if err == nil || strings.Contains(err.Error(), sensitive) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"s3://b:S3cr3t", "S3cr3t://b", "s3://b/S3cr3t", "s3://b?S3cr3t=1", "s3://b?prefix=S3cr3t!", "s3://b%S3cr3t"} {
		if _, err := blob.ParseLocation(address); err == nil || strings.Contains(err.Error(), sensitive) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
