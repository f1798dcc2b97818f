/**
 * Reads a recorded file in chunks, gzipped or plain, distinguished by its first bytes. A file that was cut
 * off is read up to the cut.
 */
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { constants, createGunzip } from "node:zlib";
import { LineSplitter } from "./line-splitter.js";

const GZIP_MAGIC = [0x1f, 0x8b] as const;
const CHUNK_BYTES = 256 * 1024;

export interface TapeRead {
  /** The compressed data can not be unpacked to its end. A file that merely stops looks like a whole one. */
  readonly isBroken: boolean;
  readonly overlongCount: number;
}

/** Lines of one chunk, as slices that stay valid until the handler's promise settles. */
export type ChunkHandler = (lines: readonly TapeLine[]) => Promise<void> | void;

export interface TapeLine {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export async function readTape(path: string, onLines: ChunkHandler): Promise<TapeRead> {
  let lines: TapeLine[] = [];
  const splitter = new LineSplitter((bytes, start, end) => lines.push({ bytes, start, end }));
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return;
    const ready = lines;
    lines = [];
    await onLines(ready);
  };
  let isBroken = false;
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  if (await isGzip(path)) {
    // SYNC_FLUSH: what was compressed before a cut still comes out.
    const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH, chunkSize: CHUNK_BYTES });
    file.on("error", (error) => gunzip.destroy(error));
    const source = file.pipe(gunzip);
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        splitter.push(chunk);
        await flush();
      }
    } catch (error) {
      if (!isZlibError(error)) throw error;
      isBroken = true;
    } finally {
      file.destroy();
    }
  } else {
    for await (const chunk of file as AsyncIterable<Buffer>) {
      splitter.push(chunk);
      await flush();
    }
  }
  splitter.end();
  await flush();
  return { isBroken, overlongCount: splitter.overlongCount };
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === GZIP_MAGIC[0] && buffer[1] === GZIP_MAGIC[1];
  } finally {
    await file.close();
  }
}

function isZlibError(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && (code.startsWith("Z_") || code.startsWith("ERR_ZLIB"));
}
