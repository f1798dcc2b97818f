/** What the entry says of itself before anything is installed or built. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Commands that take no arguments of their own; the others answer for theirs. */
const OWN = ["start", "serve"];

const USAGE = `unwind: closes perpetual-futures positions at the best all-in exit over several venues.

  npm start                       the service with local venues and a demo account, on loopback
  npm run serve                   the service against the configured venues, with API keys
  npm exec unwind -- --help       keys, the record of acts, certificates
  npm test                        the tests
  npm run check                   types, lint, layers, licences, house rules
  npm run bench -- [scenario]     benchmarks
  npm run soak                    a long run that watches memory
  npm run circle -- [address]     money once round through a running demo, with its sums
  npm run example                 a page that trades venuefive from a wallet, on a local chain
  npm run conformance -- [file]   signing vectors through the project's own code
  npm run replay -- <file>        a recorded tape through the feeds

Settings are environment variables, or keys of the JSON file unwind.config.json (UNWIND_CONFIG names another):
  PORT=9000 LOG_LEVEL=debug DATA_DIR=/tmp/unwind npm start
docs/configuration.md lists all of them. PORT is 8080 by default; 0 takes a free one.

npm run serve needs a key to seal secrets with, and an API key for each caller (docs/api-keys.md, docs/cli.md):
  (umask 077; openssl rand -hex 32 > kek); export KEK_FILE="$PWD/kek"
  npm exec unwind -- keys create --scope read,trade
It refuses what is unsafe, each problem in a line that says what to change.

  --help, -h    this text (npm run serve -- --help)
  --version     the version
`;

/** Text to print and end with, or null: go on. */
export function answerAtOnce(command, args, repoRoot) {
  if (!OWN.includes(command)) return null;
  if (args.includes("--help") || args.includes("-h")) return USAGE;
  if (!args.includes("--version")) return null;
  return `unwind ${JSON.parse(readFileSync(join(repoRoot, "package.json"), "utf8")).version}\n`;
}
