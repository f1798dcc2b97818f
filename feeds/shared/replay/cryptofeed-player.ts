/**
 * Format `cryptofeed-ws-lines` with its `.http` companion: several symbols on one socket, the REST
 * snapshots in a second file. Both are played in order of receive time; the second plays alone too.
 */
import { existsSync } from "node:fs";
import {
  type DiffPlayer,
  isFields,
  NO_TIME,
  parseJson,
  type PlayOutcome,
  type Player,
  type RecordingFile,
  type RecordingFormat,
} from "./player.js";
import { readTape } from "./tape.js";

/** Both files, with the frames of one venue. */
export function cryptofeedFormats(createPlayer: () => DiffPlayer): readonly RecordingFormat[] {
  return [
    {
      isHead: (lines) =>
        lines.some((line) => /^\d+(\.\d+)?: [{[]/.test(line)) || lines[0]?.startsWith("wss://") === true,
      open: async (file) => new CryptofeedPlayer(createPlayer(), await readCompanion(file)),
    },
    {
      isHead: ([header = ""]) => ANSWER.test(header),
      open: () => new CompanionPlayer(createPlayer()),
    },
  ];
}

/** One REST answer of the companion file. */
interface CompanionAnswer {
  readonly timeMs: number;
  readonly symbol: string;
  readonly body: Buffer;
}

class CryptofeedPlayer implements Player {
  readonly format = "cryptofeed-ws-lines";
  readonly venue: DiffPlayer;
  readonly #answers: CompanionAnswer[];
  #nextAnswer = 0;

  constructor(venue: DiffPlayer, answers: readonly CompanionAnswer[]) {
    this.venue = venue;
    this.#answers = [...answers].sort((left, right) => left.timeMs - right.timeMs);
  }

  get counts() {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const at = bodyStart(bytes, start, end);
    if (at >= 0) this.venue.scan(bytes, at, end, null);
  }

  prepare(): void {
    for (const { body, symbol } of this.#answers) this.venue.scan(body, 0, body.length, symbol);
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const at = bodyStart(bytes, start, end);
    return at < 0 ? NO_TIME : lineTimeMs(bytes, start, at);
  }

  play(bytes: Buffer, start: number, end: number): void {
    const at = bodyStart(bytes, start, end);
    if (at < 0) {
      // The first line of a file is the connection's address, not a frame.
      if (!bytes.toString("latin1", start, Math.min(end, start + 6)).startsWith("ws")) this.counts.malformed++;
      return;
    }
    const timeMs = lineTimeMs(bytes, start, at);
    this.#playAnswersUntil(timeMs);
    this.venue.playFrame(bytes, at, end, timeMs * 1e6);
  }

  outcome(): PlayOutcome {
    this.#playAnswersUntil(Number.POSITIVE_INFINITY);
    return this.venue.outcome();
  }

  #playAnswersUntil(timeMs: number): void {
    for (;;) {
      const answer = this.#answers[this.#nextAnswer];
      if (answer === undefined || answer.timeMs > timeMs) return;
      this.#nextAnswer++;
      this.venue.playSnapshot(answer.body, 0, answer.body.length, answer.symbol, answer.timeMs * 1e6);
    }
  }
}

/** The `.http` file alone: each depth answer is a whole book, as no diffs lie beside it. */
class CompanionPlayer implements Player {
  readonly format = "cryptofeed-http-lines";
  readonly venue: DiffPlayer;

  constructor(venue: DiffPlayer) {
    this.venue = venue;
  }

  get counts() {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const answer = parseCompanionLine(bytes, start, end);
    if (answer !== null) this.venue.scan(answer.body, 0, answer.body.length, answer.symbol);
  }

  prepare(): void {
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const seconds = answerSeconds(bytes.toString("utf8", start, end));
    return seconds === undefined ? NO_TIME : Number(seconds) * 1000;
  }

  play(bytes: Buffer, start: number, end: number): void {
    const answer = parseCompanionLine(bytes, start, end);
    if (answer !== null) {
      this.venue.playAnswer(answer.body, 0, answer.body.length, answer.symbol, answer.timeMs * 1e6);
    } else if (answerSeconds(bytes.toString("utf8", start, end)) !== undefined) this.counts.others++;
    else if (end > start) this.counts.malformed++;
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }
}

const ANSWER = /^(\S+) -> (\d+(?:\.\d+)?): /;

function answerSeconds(text: string): string | undefined {
  return ANSWER.exec(text)?.[2];
}

/** One line of the `.http` file: `<url> -> <seconds>: <body>`; null for lines that are no depth answer. */
function parseCompanionLine(bytes: Buffer, start: number, end: number): CompanionAnswer | null {
  const text = bytes.toString("utf8", start, end);
  const match = ANSWER.exec(text);
  if (match === null) return null;
  const [prefix, url = "", seconds = ""] = match;
  const symbol = /[?&]symbol=([^&]+)/.exec(url)?.[1];
  const body = Buffer.from(text.slice(prefix.length), "utf8");
  const parsed = parseJson(body, 0, body.length);
  if (symbol === undefined || !isFields(parsed) || typeof parsed["lastUpdateId"] !== "number") return null;
  return { timeMs: Number(seconds) * 1000, symbol: decodeURIComponent(symbol), body };
}

/** Position of the frame behind `<seconds>: `, -1 for other lines. */
function bodyStart(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < Math.min(end, start + 24); at++) {
    const byte = bytes[at] as number;
    if (byte === 0x3a /* : */) return at > start && bytes[at + 1] === 0x20 && at + 2 < end ? at + 2 : -1;
    if ((byte < 0x30 || byte > 0x39) && byte !== 0x2e) return -1;
  }
  return -1;
}

function lineTimeMs(bytes: Buffer, start: number, bodyAt: number): number {
  return Number(bytes.toString("latin1", start, bodyAt - 2)) * 1000;
}

async function readCompanion({ path, notes }: RecordingFile): Promise<readonly CompanionAnswer[]> {
  const plain = path.replace(/\.ws(\.gz)?$/, ".http");
  const companion = [`${plain}.gz`, plain].find((candidate) => candidate !== path && existsSync(candidate));
  const answers: CompanionAnswer[] = [];
  if (companion === undefined) {
    notes.push("no .http companion beside the file: books stay without a snapshot");
    return answers;
  }
  await readTape(companion, (lines) => {
    for (const { bytes, start, end } of lines) {
      const answer = parseCompanionLine(bytes, start, end);
      if (answer !== null) answers.push(answer);
    }
  });
  return answers;
}
