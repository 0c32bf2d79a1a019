package config

import (
	"fmt"
	"slices"
	"strings"
)

// profile is a named database.
type profile struct {
	name       string
	values     map[string]string
	production bool
}

// parseProfiles reads the list of profiles, each with a name and one way to its database.
func (c *Config) parseProfiles(text []byte, value any) error {
	list, ok := value.([]any)
	if !ok {
		return c.wrong(text, "profiles", "is not a list; each profile begins with - name: …")
	}
	var known []string
	for _, k := range ProfileKeys() {
		known = append(known, k.Key)
	}
	for i, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			return c.wrong(text, "profiles", fmt.Sprintf("entry %d is not a profile; it begins with - name: …", i+1))
		}
		p := profile{values: map[string]string{}}
		for written, v := range fields {
			key := strings.ReplaceAll(strings.ToLower(written), "-", "_")
			if !slices.Contains(known, key) {
				return c.unknownKey(text, written, fmt.Sprintf(" in profile %d", i+1), known)
			}
			if key == "production" {
				if p.production, ok = v.(bool); !ok {
					return c.wrong(text, written, "is neither true nor false")
				}
				continue
			}
			s, err := c.textOf(text, written, v)
			if err != nil {
				return err
			}
			p.values[key] = s
		}
		p.name = p.values["name"]
		switch {
		case p.name == "":
			return c.wrong(text, "profiles", fmt.Sprintf("entry %d has no name", i+1))
		case c.findProfile(p.name) != nil:
			return c.wrong(text, "profiles", "has two of the name "+p.name)
		case (p.values["database_url"] == "") == (p.values["database_url_file"] == ""):
			return c.wrong(text, "profiles", p.name+" needs one of database_url and database_url_file")
		}
		c.file.profiles = append(c.file.profiles, p)
	}
	return nil
}

// checkDefaultProfile refuses a file whose default database is not clear.
func (c *Config) checkDefaultProfile(text []byte) error {
	name, set := c.file.values["default_profile"]
	if !set {
		return nil
	}
	if c.findProfile(name) == nil {
		return c.wrong(text, "default_profile", fmt.Sprintf("names %q, and profiles has none of that name", name))
	}
	for _, key := range []string{"database_url", "database_url_file"} {
		if _, both := c.file.values[key]; both {
			return c.wrong(text, key, "and default_profile both name the database; keep one")
		}
	}
	return nil
}

func (c *Config) findProfile(name string) *profile {
	for i := range c.file.profiles {
		if c.file.profiles[i].name == name {
			return &c.file.profiles[i]
		}
	}
	return nil
}
