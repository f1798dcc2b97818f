/**
 * Plays a recorded file through the real feed code: recognises its format, reads it once for the
 * decimals and once for real, as fast as it goes or at a multiple of its own pace.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { type Clock, delay } from "../../engine/domain/clock.js";
import { VENUES } from "../registry.js";
import { isFields, parseJson, type Player, type RecordingFormat } from "../shared/replay/player.js";
import { frameStart } from "../shared/replay/raw-player.js";
import type { ReplayResult } from "../shared/replay/report.js";
import { readTape } from "../shared/replay/tape.js";

export interface ReplayOptions {
  readonly clock: Clock;
  /** "max", or a factor on the recording's own pace. */
  readonly speed: number | "max";
}

/** The file can not be played, and why: for people. */
export class UnplayableFile extends Error {
  override readonly name = "UnplayableFile";
}

/** Lines looked at to recognise a format: a recording may begin with garbage. */
const PEEK_LINES = 50;
const FORMATS = "raw-ws-lines, cryptofeed-ws-lines, cryptofeed-http-lines, jsonl-frames, csv-*";
/** A file up to this is looked at whole to say what it is. */
const MAX_DOCUMENT_CHARS = 4 * 1024 * 1024;
/** Of a foreign file, in a message. */
const MAX_CHANNEL_CHARS = 60;
/** Waits shorter than this are saved up: timers are no finer. */
const MIN_WAIT_MS = 2;

export async function replayFile(path: string, options: ReplayOptions): Promise<ReplayResult> {
  if (!existsSync(path)) throw new UnplayableFile(`no such file: ${path}`);
  const notes: string[] = [];
  const player = await createPlayer(path, notes);
  const first = await readTape(path, (lines) => {
    for (const { bytes, start, end } of lines) player.scan(bytes, start, end);
  });
  if (first.isBroken) notes.push("the compressed data is broken: played up to the break");
  if (first.overlongCount > 0) notes.push(`${first.overlongCount} overlong lines dropped`);
  player.prepare();

  const pace = options.speed === "max" ? null : new Pace(options.clock, options.speed);
  const startNs = options.clock.monoNs();
  await readTape(path, async (lines) => {
    for (const { bytes, start, end } of lines) {
      const waitMs = pace === null ? 0 : pace.waitMs(player.timeMs(bytes, start, end));
      if (waitMs > 0) await delay(options.clock, waitMs);
      player.play(bytes, start, end);
    }
  });
  const outcome = player.outcome();
  const seconds = (options.clock.monoNs() - startNs) / 1e9;
  return {
    format: player.format,
    counts: player.counts,
    report: {
      frames: outcome.frames,
      levelUpdates: outcome.levelUpdates,
      framesPerSecond: seconds > 0 ? Math.round(outcome.frames / seconds) : 0,
      gaps: outcome.gaps,
      crossings: outcome.crossings,
      symbols: outcome.symbols,
    },
    notes,
  };
}

/** Turns receive times into waits. A step back (a collector's clock was changed) starts a new stretch. */
class Pace {
  readonly #clock: Clock;
  readonly #speed: number;
  #anchorTapeMs = Number.NaN;
  #anchorNs = 0;
  #lastTapeMs = Number.NaN;

  constructor(clock: Clock, speed: number) {
    this.#clock = clock;
    this.#speed = speed;
  }

  waitMs(tapeMs: number): number {
    if (!Number.isFinite(tapeMs)) return 0;
    const nowNs = this.#clock.monoNs();
    if (!(tapeMs >= this.#lastTapeMs)) {
      this.#anchorTapeMs = tapeMs;
      this.#anchorNs = nowNs;
    }
    this.#lastTapeMs = tapeMs;
    const dueMs = (tapeMs - this.#anchorTapeMs) / this.#speed;
    const waitMs = dueMs - (nowNs - this.#anchorNs) / 1e6;
    return waitMs >= MIN_WAIT_MS ? waitMs : 0;
  }
}

const RECORDINGS: readonly RecordingFormat[] = VENUES.flatMap(({ recordings }) => recordings);

/** Of the first lines; null means none of ours. */
function formatOf(head: readonly string[]): RecordingFormat | null {
  const [header = ""] = head;
  const byHeader = RECORDINGS.find((format) => format.header !== undefined && header.startsWith(format.header));
  const byHead = byHeader ?? RECORDINGS.find((format) => format.isHead?.(head) === true);
  if (byHead !== undefined) return byHead;
  for (const line of head) {
    const bytes = Buffer.from(line, "utf8");
    const at = frameStart(bytes, 0, bytes.length);
    const parsed = parseJson(bytes, Math.max(0, at), bytes.length);
    if (!isFields(parsed)) continue;
    const byFrame = RECORDINGS.find((format) => format.isFrame?.(parsed, at >= 0) === true);
    if (byFrame !== undefined) return byFrame;
  }
  return null;
}

async function createPlayer(path: string, notes: string[]): Promise<Player> {
  const name = basename(path).replace(/\.gz$/, "");
  const format = formatOf(await peek(path));
  if (format !== null) return format.open({ path, symbol: symbolFromName(name), notes });
  const document = await wholeDocument(path);
  if (document !== null) {
    throw new UnplayableFile(
      `${name}: one JSON document${document}, not a recording: write each frame on a line of its own behind its receive ` +
        "time, `<ns since epoch> <frame>`",
    );
  }
  throw new UnplayableFile(`${name}: not one of the recorded formats (${FORMATS})`);
}

/** Of a file that is one JSON value, printed over many lines perhaps: its channel in words; null for other files. */
async function wholeDocument(path: string): Promise<string | null> {
  const parts: string[] = [];
  let chars = 0;
  const tooLong = new Error("too long");
  try {
    await readTape(path, (lines) => {
      for (const { bytes, start, end } of lines) {
        const part = bytes.toString("utf8", start, end);
        chars += part.length;
        if (chars > MAX_DOCUMENT_CHARS) throw tooLong;
        parts.push(part);
      }
    });
  } catch (error) {
    if (error !== tooLong) throw error;
    return null;
  }
  const bytes = Buffer.from(parts.join("\n"), "utf8");
  const parsed = parseJson(bytes, 0, bytes.length);
  if (typeof parsed !== "object" || parsed === null) return null;
  const channel = isFields(parsed) ? parsed["channel"] : undefined;
  return typeof channel === "string" ? ` (channel ${channel.slice(0, MAX_CHANNEL_CHARS)})` : "";
}

/** First lines of the file. */
async function peek(path: string): Promise<readonly string[]> {
  const head: string[] = [];
  const stop = new Error("enough");
  try {
    await readTape(path, (lines) => {
      for (const { bytes, start, end } of lines) {
        head.push(bytes.toString("utf8", start, end));
        if (head.length >= PEEK_LINES) throw stop;
      }
    });
  } catch (error) {
    if (error !== stop) throw error;
  }
  return head;
}

/** `collector_btcusdt_bbo_20250924.csv` → BTCUSDT: the rows do not say. */
function symbolFromName(name: string): string {
  return (name.split("_")[1] ?? name.replace(/\..*$/, "")).toUpperCase();
}
