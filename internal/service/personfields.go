package service

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
)

// person reads the fields email and name.
func (f *fields) person(nowMs int64) store.Person {
	p := store.Person{ID: newID[chargehand.UserID](nowMs), CreatedMs: nowMs}
	for _, name := range []string{"email", "name"} {
		if !f.has(name) {
			f.fail(name, "required", "The field \""+name+"\" is missing.")
		}
	}
	p.Email, p.EmailKey = f.email("email")
	p.Name, p.NameKey = f.personName("name")
	return p
}

// email reads an e-mail address, as it is shown and in the form that is compared.
func (f *fields) email(name string) (shown, key string) {
	before := len(f.wrong)
	text := f.text(name, maxBodyText)
	if len(f.wrong) > before {
		return "", ""
	}
	shown, key, complaint := person.Email(text)
	if complaint != "" {
		f.fail(name, "wrong_value", "The field \""+name+"\" "+complaint)
	}
	return shown, key
}

// personName reads a name that people see.
func (f *fields) personName(field string) (name, key string) {
	before := len(f.wrong)
	text := f.text(field, maxBodyText)
	if !f.has(field) || len(f.wrong) > before {
		return "", ""
	}
	name, complaint := person.Name(text)
	if complaint != "" {
		f.fail(field, "wrong_value", "The field \""+field+"\" "+complaint)
	}
	return name, person.Key(name)
}

// maxBodyText is far more than any name or address has.
const maxBodyText = 64 << 10
