/** What every metric is made of: a gauge or a counter whose values are read at each scrape. */
import { Counter, Gauge, type Registry } from "prom-client";

/** A metric without labels. */
type Figure = readonly [name: string, help: string, read: () => number];

/** The value for each set of labels. */
export type Samples = Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

export interface Labelled {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly read: () => Samples;
}

export function addGauges(registry: Registry, figures: readonly Figure[]): void {
  for (const figure of figures) addGauge(registry, unlabelled(figure));
}

export function addCounters(registry: Registry, figures: readonly Figure[]): void {
  for (const figure of figures) addCounter(registry, unlabelled(figure));
}

function unlabelled([name, help, readOne]: Figure): Labelled {
  return { name, help, labelNames: [], read: () => [[{}, readOne()]] };
}

export function addGauge(registry: Registry, { name, help, labelNames, read }: Labelled): void {
  new Gauge<string>({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      for (const [labels, value] of read()) this.set(labels, value);
    },
  });
}

/** The library counts up from 0: what is read is a total, so it starts again at each scrape. */
export function addCounter(registry: Registry, { name, help, labelNames, read }: Labelled): void {
  new Counter<string>({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.inc(labels, value);
    },
  });
}
