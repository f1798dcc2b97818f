/** `npm run replay -- <file> [--speed x|max]`: plays a recorded file; the last line printed is the report as JSON. */
import { pathToFileURL } from "node:url";
import { createSystemClock } from "../../engine/domain/clock.js";
import { replayFile, UnplayableFile } from "../../feeds/replay/replay.js";

const USAGE = "usage: npm run replay -- <file> [--speed x|max]";

interface ReplayArguments {
  readonly file: string;
  readonly speed: number | "max";
}

function parseArguments(argv: readonly string[]): ReplayArguments | null {
  let file: string | null = null;
  let speed: number | "max" = "max";
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    if (word === "--speed" || word.startsWith("--speed=")) {
      const text = word === "--speed" ? (argv[++index] ?? "") : word.slice("--speed=".length);
      speed = text === "max" ? "max" : Number(text);
      if (speed !== "max" && !(speed > 0 && Number.isFinite(speed))) return null;
    } else if (word.startsWith("-") || file !== null) {
      return null;
    } else {
      file = word;
    }
  }
  return file === null ? null : { file, speed };
}

/** Returns the exit code: 0 played, 1 not playable, 2 wrong usage. */
export async function runReplay(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const parsed = parseArguments(argv);
  if (parsed === null) {
    print(USAGE);
    return 2;
  }
  try {
    const { format, counts, report, notes } = await replayFile(parsed.file, {
      clock: createSystemClock(),
      speed: parsed.speed,
    });
    print(`format ${format}`);
    print(
      `books ${counts.books}, best bid and offer ${counts.touches}, trades ${counts.trades}, other ${counts.others}, ` +
        `ignored ${counts.ignored}, drift ${counts.drifts}, garbage lines ${counts.malformed}`,
    );
    for (const note of notes) print(`note: ${note}`);
    print(JSON.stringify(report));
    return 0;
  } catch (error) {
    if (!(error instanceof UnplayableFile)) throw error;
    print(error.message);
    return 1;
  }
}

/** Entry point when started as a program. */
export async function main(args: readonly string[]): Promise<void> {
  // The clock's timers do not keep a process alive; a paced replay must not end between two frames.
  const keepAlive = setInterval(() => {}, 60_000);
  try {
    process.exitCode = await runReplay(args, (line) => process.stdout.write(`${line}\n`));
  } finally {
    clearInterval(keepAlive);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
