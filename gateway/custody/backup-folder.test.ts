/** The backup folder: what is durable when, what is refused and why, and a process that is killed or finds no room. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { backupFileName } from "../../engine/custody/provider/backup-name.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { listBackups, openBackupFolder, readBackup, reasonOf } from "./backup-folder.js";
import { backupOf, nameOf } from "./test/backup-files.js";

const clock = createSystemClock();
let workDirectory: string;
let childProgram: string;
let folders = 0;

beforeAll(() => {
  workDirectory = mkdtempSync(join(tmpdir(), "unwind-backups-"));
  const compiled = join(workDirectory, "compiled");
  mkdirSync(compiled);
  childProgram = compileChild("gateway/custody/test/backup-folder.child.ts", compiled);
});
afterAll(() => {
  rmSync(workDirectory, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const path = join(workDirectory, `folder-${folders++}`);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

const file = (number: number) => backupFileName({ ...nameOf(number), party: 0 });

async function reason(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error(`nothing was refused: ${String(error)}`);
  expect([error.code, typeof error.context["path"]]).toEqual(["STORE_UNAVAILABLE", "string"]);
  return String(error.context["reason"]);
}

describe("the backup folder", () => {
  it("keeps each file under its name, closed to others, and lists and reads it for a restore", async () => {
    const path = await newFolder();
    const folder = await openBackupFolder({ path, party: 0, clock });
    for (const number of [0, 1, 2]) await folder.write(nameOf(number), backupOf(number));
    await (await openBackupFolder({ path, party: 1, clock })).write(nameOf(3), backupOf(3));
    writeFileSync(join(path, "notes.txt"), "read me");
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, file(0))).mode & 0o777).toBe(0o600);
    const listed = await listBackups(path, 0);
    expect(listed.map(({ epoch }) => epoch).sort()).toEqual([1, 2, 3]);
    expect((await listBackups(path, 1)).map(({ epoch }) => epoch)).toEqual([4]);
    for (const name of listed) expect(await readBackup(path, name)).toEqual(backupOf(name.epoch - 1));
    expect(readdirSync(path).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("takes the same file again, as after a reply that was lost, and never another under its name", async () => {
    const path = await newFolder();
    const folder = await openBackupFolder({ path, party: 0, clock });
    await folder.write(nameOf(0), backupOf(0));
    await folder.write(nameOf(0), backupOf(0));
    expect(await reason(folder.write(nameOf(0), backupOf(1)))).toBe("BACKUP_EXISTS");
    expect(await reason(folder.write(nameOf(0), backupOf(0).subarray(1)))).toBe("BACKUP_EXISTS");
    expect(readFileSync(join(path, file(0)))).toEqual(backupOf(0));
  });

  it("follows no link that lies under a name", async () => {
    const path = await newFolder();
    const elsewhere = join(workDirectory, "elsewhere");
    writeFileSync(elsewhere, backupOf(0));
    symlinkSync(elsewhere, join(path, file(0)));
    symlinkSync(elsewhere, join(path, `.${file(1)}.tmp`));
    const folder = await openBackupFolder({ path, party: 0, clock });
    expect(await reason(folder.write(nameOf(0), backupOf(0)))).toBe("BACKUP_FAILED");
    await folder.write(nameOf(1), backupOf(1));
    expect(readFileSync(elsewhere)).toEqual(backupOf(0));
  });

  it("is refused where it is missing, a file, or open to others' writes, and is not made at the start", async () => {
    const missing = join(workDirectory, "missing");
    expect(await reason(openBackupFolder({ path: missing, party: 0, clock }))).toBe("BACKUP_FOLDER_MISSING");
    expect(await reason(listBackups(missing, 0))).toBe("BACKUP_FOLDER_MISSING");
    const plain = join(workDirectory, "plain");
    writeFileSync(plain, "");
    expect(await reason(openBackupFolder({ path: plain, party: 0, clock }))).toBe("BACKUP_FOLDER_MISSING");
    const shared = await newFolder();
    chmodSync(shared, 0o770);
    expect(await reason(openBackupFolder({ path: shared, party: 0, clock }))).toBe("BACKUP_FOLDER_MODE");
  });

  it("says so where the volume went away since the start, and works again when it is back", async () => {
    const path = await newFolder();
    const folder = await openBackupFolder({ path, party: 0, clock });
    rmSync(path, { recursive: true });
    expect(await reason(folder.write(nameOf(0), backupOf(0)))).toBe("BACKUP_FOLDER_MISSING");
    mkdirSync(path, { mode: 0o700 });
    await folder.write(nameOf(0), backupOf(0));
    expect(readdirSync(path)).toEqual([file(0)]);
  });

  it("is refused where nothing can be made in it", async () => {
    // Folders of the kernel, where no user may make a file; the answer is one for a file that cannot be made.
    for (const path of ["/proc/sys", "/sys"])
      expect(["BACKUP_FOLDER_MISSING", "BACKUP_FOLDER_READ_ONLY"]).toContain(
        await reason(openBackupFolder({ path, party: 0, clock })),
      );
  });

  it.each([
    ["EROFS", "BACKUP_FOLDER_READ_ONLY"],
    ["EACCES", "BACKUP_FOLDER_READ_ONLY"],
    ["ENOSPC", "BACKUP_DISK_FULL"],
    ["EDQUOT", "BACKUP_DISK_FULL"],
    ["ENOTDIR", "BACKUP_FOLDER_MISSING"],
    ["EIO", "BACKUP_FAILED"],
  ])("names %s of the system as %s", (code, expected) => {
    expect(reasonOf(code)).toBe(expected);
  });

  it("gives up on a volume that hangs after ten seconds", async () => {
    const path = await newFolder();
    const virtual = new VirtualClock();
    const folder = await openBackupFolder({ path, party: 0, clock: virtual });
    const writing = reason(folder.write(nameOf(0), backupOf(0)));
    // The time passes before the system has answered anything.
    virtual.advance(10_000);
    expect(await writing).toBe("BACKUP_TIMEOUT");
  });
});

describe("the backup folder in a real process", () => {
  it("has every acknowledged file after a kill, none that is half, and no rest after the next start", async () => {
    const path = await newFolder();
    const random = createSeededRandom(16);
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round++) {
      acknowledged.push(...(await writeUntilKilled(path, round * 100_000, 10 + Math.floor(random.next() * 150))));
      const listed = await listBackups(path, 0);
      for (const name of listed) expect(await readBackup(path, name)).toEqual(backupOf(name.epoch - 1));
      const numbers = new Set(listed.map(({ epoch }) => epoch - 1));
      expect(acknowledged.filter((number) => !numbers.has(number))).toEqual([]);
    }
    writeFileSync(join(path, `.${file(999_999)}.tmp`), "half");
    await openBackupFolder({ path, party: 0, clock });
    expect(readdirSync(path).filter((name) => name.startsWith("."))).toEqual([]);
  }, 120_000);

  it("says that the disk is full, and leaves nothing behind", async () => {
    const path = await newFolder();
    // A file-size limit of 1 KiB stands for the full disk: writes fail with EFBIG (node ignores the signal).
    const child = spawn("sh", ["-c", `ulimit -f 2; exec "$0" "$@"`, process.execPath, childProgram, path, "once"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (piece: Buffer) => {
      output += piece.toString();
    });
    await once(child, "close");
    expect(output).toBe("BACKUP_DISK_FULL\n");
    expect(readdirSync(path)).toEqual([]);
  });
});

async function writeUntilKilled(path: string, first: number, killAfter: number): Promise<number[]> {
  const child = spawn(process.execPath, [childProgram, path, "write", String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const found: number[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    found.push(Number(line));
    if (found.length === killAfter) child.kill("SIGKILL");
  });
  await Promise.all([exited, once(lines, "close")]);
  expect(child.signalCode).toBe("SIGKILL");
  return found;
}
