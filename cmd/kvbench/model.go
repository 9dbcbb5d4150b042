package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/siftkv/sift/bench/model"
)

// modelSizes prints what databases of several sizes would be like, and how the
// largest is spread over machines.
func modelSizes(ctx context.Context, env environment) error {
	f, err := parseModelFlags(env.args)
	if errors.Is(err, errHelp) {
		_, err = io.WriteString(env.stdout, modelUsage)
		return err
	}
	if err != nil {
		return err
	}
	estimates, err := f.estimates(ctx, env)
	if err != nil {
		return err
	}
	c := f.Config
	c.Keys = slices.Max(f.sizes)
	plan, err := model.NewPlan(c, f.machine)
	if err != nil {
		return fmt.Errorf("%w; give each more with -memory and -disk", err)
	}
	if f.json {
		return f.printJSON(env.stdout, estimates, plan)
	}
	_, err = io.WriteString(env.stdout, f.heading()+modelTable(estimates)+f.notes()+f.planText(plan))
	return err
}

// estimates returns those of all sizes, levelled first.
func (f *modelFlags) estimates(ctx context.Context, env environment) (all []*model.Estimate, err error) {
	line := env.progress()
	defer line.clear()
	policies := []model.Policy{model.Levelled, model.Lazy}
	for _, policy := range policies {
		for _, n := range f.sizes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			line.show("modelling "+commas(n)+" keys", float64(len(all))/float64(len(policies)*len(f.sizes)))
			c := f.Config
			c.Keys = n
			e, err := model.NewEstimate(c, policy)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	return all, nil
}

func (f *modelFlags) printJSON(w io.Writer, estimates []*model.Estimate, plan *model.Plan) error {
	text, err := json.MarshalIndent(map[string]any{
		"settings": map[string]any{
			"key_size": f.KeySize, "value_size": f.ValueSize, "compress": f.ValueRatio,
			"order": f.order(), "overwrites": f.Overwrites, "bits_per_key": f.BitsPerKey,
			"memtable": f.MemTableSize, "table": f.TableSize, "base": f.Tree.BaseLevelSize,
			"multiplier": f.Tree.Multiplier, "open_files": f.MaxOpenFiles,
		},
		"rows": estimates,
		"plan": plan,
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func (f *modelFlags) order() string {
	if f.Sequential {
		return "sequential"
	}
	return "random"
}

func (f *modelFlags) heading() string {
	text := fmt.Sprintf("Keys of %s B and values of %s B, of which compression leaves %s, put in %s order",
		commas(f.KeySize), commas(f.ValueSize), percent(f.ValueRatio), f.order())
	if f.Overwrites > 0 {
		text += fmt.Sprintf(",\nthen %s times as many put again at random", digits(f.Overwrites))
	}
	return text + fmt.Sprintf(`
memtable %s, tables %s, base level %s, levels up to %d times the one above,
filters of %s bits a key

`, byteCount(float64(f.MemTableSize)), byteCount(float64(f.TableSize)), byteCount(float64(f.Tree.BaseLevelSize)),
		f.Tree.Multiplier, digits(f.BitsPerKey))
}

// modelTable writes a row for each estimate, under the name of its policy.
func modelTable(estimates []*model.Estimate) string {
	var g grid
	g.row("", []string{"", "", "written", "of which", "tables", "tables", "filters", "filters", "absent", "absent", "present", ""})
	g.row("keys", []string{"levels", "runs", "a byte", "compacted", "in all", "a byte", "even", "Monkey", "even", "Monkey", "even", "by"})
	var policy model.Policy
	for _, e := range estimates {
		if e.Policy != policy {
			policy = e.Policy
			g.line("")
			g.line(policyTitles[policy])
		}
		by := "formula"
		if e.Simulated {
			by = "simulation"
		}
		g.row(commas(e.Keys), []string{
			commas(e.Levels), digits(e.Runs),
			digits(e.Amplification.Total()), digits(e.Amplification.Compact),
			byteCount(e.TableBytes), digits(e.Space),
			byteCount(e.FilterBytes), byteCount(e.MonkeyBytes),
			digits(e.Uniform.Absent), digits(e.Monkey.Absent), digits(e.Uniform.Present), by,
		})
	}
	return g.String()
}

var policyTitles = map[model.Policy]string{
	model.Levelled: "LEVELLED, as sift is",
	model.Lazy:     "LAZY LEVELLING, which sift does not have: by formula only",
}
