/** What `npm run bench` was asked for. */

export interface BenchRequest {
  readonly kind: "run";
  readonly scenarios: readonly string[];
  readonly smoke: boolean;
  /** Results go into bench/RESULTS.md: after a run of all scenarios, or with --write. */
  readonly writes: boolean;
}

export type BenchArguments = BenchRequest | { readonly kind: "help" | "refused"; readonly text: string };

export function readBenchArguments(args: readonly string[], known: readonly string[]): BenchArguments {
  if (args.includes("--help")) return { kind: "help", text: helpText(known) };
  const unknown = args.filter((arg) => (arg.startsWith("-") ? !FLAGS.includes(arg) : !known.includes(arg)));
  if (unknown.length > 0)
    return { kind: "refused", text: `Unknown: ${unknown.join(", ")}. Known: ${[...FLAGS, ...known].join(", ")}\n` };
  const scenarios = args.filter((arg) => !arg.startsWith("-"));
  const [smoke, write] = [args.includes("--smoke"), args.includes("--write")];
  if (smoke && write) return { kind: "refused", text: "--smoke measures too little to be written\n" };
  return { kind: "run", scenarios, smoke, writes: !smoke && (write || scenarios.length === 0) };
}

const FLAGS: readonly string[] = ["--help", "--smoke", "--write"];

function helpText(known: readonly string[]): string {
  return `npm run bench [-- <scenario> …] [--smoke | --write]

Without a scenario all are measured, and bench/RESULTS.md is written.
With some, it is written with --write only. --smoke is short, and writes nothing.

${known.map((name) => `  ${name}`).join("\n")}
`;
}
