package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Parse(pageText))

// WriteHTML writes one page that stands by itself: it loads nothing.
func (d *Data) WriteHTML(w io.Writer) error {
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Style":    template.CSS(pageStyle), //nolint:gosec // a file of this package
		"Summary":  d.summaryLines(),
		"Notes":    d.Notes(),
		"Sections": d.Sections(),
	})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}
