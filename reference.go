package chargehand

import (
	"net/url"
	"strings"
)

// FilesPath stands before the id of a file in the uri of a file reference.
const FilesPath = APIPath + "/files/"

// ParseFileURI returns the id in the uri of a file reference (docs/language/files.md):
// /api/v1/files/{id}, relative or with scheme and host in front, without query and fragment.
func ParseFileURI(uri string) (id FileID, ok bool) {
	path := uri
	if !strings.HasPrefix(path, FilesPath) {
		u, err := url.Parse(uri)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
			return id, false
		}
		path = u.Path
	}
	text, ok := strings.CutPrefix(path, FilesPath)
	return id, ok && id.UnmarshalText([]byte(text)) == nil
}
