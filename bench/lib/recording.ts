/** Loads a recorded raw file (`<ns> <frame>` a line) into frames, so that a measurement touches no disk. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

export interface RecordedFrame {
  readonly kind: "depth" | "snapshot" | "other";
  readonly bytes: Buffer;
  readonly text: string;
}

export const USDM_RECORDING = "binance-usdm_btcusdt_20240808.raw.gz";

export function loadRecording(dataFolder: string, file: string): RecordedFrame[] {
  const text = gunzipSync(readFileSync(join(dataFolder, file))).toString("latin1");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const frame = line.slice(line.indexOf(" ") + 1);
      const kind = frame.startsWith('{"lastUpdateId"')
        ? "snapshot"
        : frame.includes('"depthUpdate"')
          ? "depth"
          : "other";
      return { kind, bytes: Buffer.from(frame, "latin1"), text: frame };
    });
}
