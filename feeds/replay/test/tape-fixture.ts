/** What the tests of this folder share: the fixture tape, and files to play. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { type LineHandler, LineSplitter } from "../../shared/replay/line-splitter.js";
import type { Player } from "../../shared/replay/player.js";
import { RawPlayer } from "../../shared/replay/raw-player.js";
import { VenuetwoPlayer } from "../../venuetwo/replay.js";

export const TAPE_PATH = fileURLToPath(new URL("../fixtures/keepusdt.raw.gz", import.meta.url));
/** Decompressed. */
export const TAPE = gunzipSync(readFileSync(TAPE_PATH));

/** The final book of the tape, by the recording's own reference replay. */
export const TAPE_BOOK = {
  bestBid: ["0.2463", "249"],
  bestAsk: ["0.2467", "9047"],
  bidLevels: 401,
  askLevels: 614,
  lastU: 600860420312,
};

export function linesOf(bytes: Buffer): string[] {
  return bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
}

/** Plays chunks, cut anywhere, through a player: both passes. */
export function playChunks<P extends Player>(player: P, chunks: readonly Buffer[]): P {
  const pass = (onLine: LineHandler): void => {
    const splitter = new LineSplitter(onLine);
    for (const chunk of chunks) splitter.push(chunk);
    splitter.end();
  };
  pass((bytes, start, end) => player.scan(bytes, start, end));
  player.prepare();
  pass((bytes, start, end) => player.play(bytes, start, end));
  return player;
}

export function createRawPlayer(): RawPlayer<VenuetwoPlayer> {
  return new RawPlayer(new VenuetwoPlayer());
}

export function playRaw(lines: readonly string[]): RawPlayer<VenuetwoPlayer> {
  return playChunks(createRawPlayer(), [Buffer.from(`${lines.join("\n")}\n`)]);
}
