package blob

import (
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// Location says where contents are: in a folder, or in a bucket of an S3 store.
type Location struct {
	Folder string // absolute; empty: Bucket holds

	Bucket    string
	Endpoint  string // http or https; empty: that of AWS
	Region    string // empty: from the environment, as the AWS SDK finds it
	Prefix    string // in front of every key: empty, or ends in a slash
	PathStyle bool   // the bucket is part of the path, not of the host name
}

// String names the place in messages.
func (l Location) String() string {
	if l.Bucket == "" {
		return "folder " + l.Folder
	}
	name := "bucket " + strconv.Quote(l.Bucket)
	if l.Prefix != "" {
		name += " (prefix " + strconv.Quote(l.Prefix) + ")"
	}
	if l.Endpoint != "" {
		name += " at " + l.Endpoint
	}
	return name
}

// credentialHint is the answer to credentials in an address, which would show them in lists
// of processes and in logs.
const credentialHint = "credentials do not belong in the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role"

// ParseLocation reads file:///path and s3://bucket?endpoint=…&region=…&prefix=…&path_style=….
// No error repeats a part of the address, because it may hold credentials.
func ParseLocation(address string) (Location, error) {
	u, err := url.Parse(address)
	switch {
	case strings.Contains(address, "@") && (err != nil || u.User != nil):
		return Location{}, errors.New(credentialHint)
	case err != nil:
		return Location{}, errors.New("it is not an address such as s3://bucket?region=eu-central-1 or file:///path")
	case u.Fragment != "":
		return Location{}, errors.New("an address of files has no part behind #")
	case u.Scheme == "file":
		return parseFolder(u)
	case u.Scheme == "s3":
		return parseBucket(u)
	}
	return Location{}, errors.New("its scheme is neither s3 nor file")
}

func parseFolder(u *url.URL) (Location, error) {
	if u.Host != "" && u.Host != "localhost" {
		return Location{}, errors.New("an address of a folder has three slashes: file:///path")
	}
	if u.RawQuery != "" || !filepath.IsAbs(u.Path) || u.Path == "/" {
		return Location{}, errors.New("an address of a folder is file:// and an absolute path, without parameters")
	}
	return Location{Folder: filepath.Clean(u.Path)}, nil
}

func parseBucket(u *url.URL) (Location, error) {
	l := Location{Bucket: u.Host}
	if l.Bucket == "" || u.Port() != "" || u.Opaque != "" {
		return l, errors.New("the bucket is missing: s3://bucket")
	}
	if u.Path != "" && u.Path != "/" {
		return l, errors.New("name a folder in a bucket with the parameter prefix")
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return l, errors.New("its parameters cannot be read")
	}
	for name, values := range parameters {
		if len(values) != 1 {
			return l, errors.New("a parameter is given twice")
		}
		switch value := values[0]; name {
		case "endpoint":
			l.Endpoint, err = parseEndpoint(value)
		case "region":
			l.Region = value
		case "prefix":
			l.Prefix, err = parsePrefix(value)
		case "path_style":
			if value != "true" && value != "false" {
				err = errors.New("path_style is neither true nor false")
			}
		default:
			err = unknownParameter(name)
		}
		if err != nil {
			return l, err
		}
	}
	// Stores other than AWS's seldom have a host name for each bucket.
	l.PathStyle = l.Endpoint != ""
	if style := parameters.Get("path_style"); style != "" {
		l.PathStyle = style == "true"
	}
	return l, nil
}

func unknownParameter(name string) error {
	for _, part := range []string{"key", "secret", "token", "password", "credential", "user", "sig"} {
		if strings.Contains(strings.ToLower(name), part) {
			return errors.New(credentialHint)
		}
	}
	return errors.New("it has a parameter that is not one of endpoint, region, prefix, path_style")
}

func parseEndpoint(value string) (string, error) {
	u, err := url.Parse(value)
	switch {
	case strings.Contains(value, "@"):
		return "", errors.New(credentialHint)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return "", errors.New("endpoint is not an http or https address without query")
	}
	return strings.TrimSuffix(value, "/"), nil
}

// parsePrefix keeps to characters that every store and every signature takes alike.
func parsePrefix(value string) (string, error) {
	value = strings.Trim(value, "/")
	if value == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(value, "/") {
		strange := strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
		})
		if strange || part == "" || part == "." || part == ".." {
			return "", errors.New("prefix may hold letters, digits, hyphen, underscore, dot and single slashes between them")
		}
	}
	if len(value) > 512 {
		return "", errors.New("prefix is longer than 512 characters")
	}
	return value + "/", nil
}
