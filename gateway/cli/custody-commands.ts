/** `unwind custody …`, which sets the two signing parties up, and `unwind cosigner`, which is one of them. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type BackupPublicKey, parseBackupPublicKey } from "../../engine/custody/provider/backup-key.js";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { createLogger, LOG_LEVELS, type LogLevel } from "../app/log.js";
import { CosignerRefused } from "../cosigner/cosigner.js";
import { type RunningCosigner, runCosigner } from "../cosigner/run-cosigner.js";
import {
  type MadeCertificate,
  makeNextCertificate,
  pinsOfParty,
  type UsedCertificate,
  useNextCertificate,
} from "../custody/certificate-change.js";
import { PartyCertificateError } from "../custody/party-certificate.js";
import { filesOf, partyOfFolder } from "../custody/party-config.js";
import { PARTY_NAMES } from "../custody/party-names.js";
import { makeParties, SetupError, writeBackupPair } from "../custody/party-setup.js";
import { type CliTools, JSON_FLAG, JSON_TEXT, type Options, type ProgramParts } from "./cli-call.js";
import { CliFailure, EXIT_FAULT, EXIT_REFUSED, EXIT_USAGE } from "./exit-codes.js";
import { certificateText, fieldsText, partiesText } from "./output.js";

export function addCustody(custody: Command, parts: ProgramParts): void {
  custody
    .command("init <folder>")
    .description("make the folders of both signing parties in a new folder")
    .option("--service-backup-key <public>", "its private half is elsewhere already", backupKey)
    .option("--cosigner-backup-key <public>", "likewise", backupKey)
    .option(JSON_FLAG, JSON_TEXT)
    .action((folder: string, options: Options) =>
      act(parts, options, () => init(resolve(folder), options), partiesText),
    );
  custody
    .command("backup-key <file>")
    .description("make a pair: the private half goes into this new file, the public one is printed")
    .option(JSON_FLAG, JSON_TEXT)
    .action((file: string, options: Options) => act(parts, options, () => makeBackupKey(resolve(file))));
  custody
    .command("pin <folder>")
    .description("what the other party's party.json has in peerPins for the party of this folder")
    .option(JSON_FLAG, JSON_TEXT)
    .action((folder: string, options: Options) =>
      act(parts, options, () => certified(() => pinsOfParty(filesOf(resolve(folder))))),
    );
  custody
    .command("certificate <folder>")
    .description("make the next certificate of the party of this folder, and print its pin; with --use: take it up")
    .option("--use", "show the next certificate from the next start on; the other party has to pin it already")
    .option(JSON_FLAG, JSON_TEXT)
    .action((folder: string, options: Options) => {
      const isUse = options["use"] === true;
      return act(
        parts,
        options,
        () => changeCertificate(resolve(folder), isUse),
        (change) => certificateText(change as MadeCertificate | UsedCertificate, resolve(folder)),
      );
    });
  custody
    .command("contract")
    .description("print the contract of an outside signer (WALLET_PROVIDER=https), an OpenAPI document")
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) => act(parts, options, contract, (document) => JSON.stringify(document, null, 2)));
}

/** Loaded for this command alone: the schemas take their time. */
async function contract(): Promise<unknown> {
  return (await import("../../schemas/signer-openapi.js")).buildSignerContract();
}

export function addCosigner(cosigner: Command, parts: ProgramParts): void {
  cosigner
    .addOption(new Option("--log-level <level>", "lowest level written to stderr").choices(LOG_LEVELS).default("info"))
    .action((folder: string, options: Options) =>
      parts.act({
        json: false,
        run: (tools) => runUntilStopped(resolve(folder), String(options["logLevel"]) as LogLevel, tools),
        // What there is to say was said when it listened.
        textOf: () => "",
      }),
    );
}

function act(
  parts: ProgramParts,
  options: Options,
  run: () => unknown,
  textOf: (result: unknown) => string = (result) => fieldsText(result as object),
): Promise<void> {
  return parts.act({ json: options["json"] === true, run: async () => run(), textOf });
}

function init(directory: string, options: Options) {
  const given = (name: string) => (options[name] as BackupPublicKey | undefined) ?? null;
  const backupKeys = { service: given("serviceBackupKey"), cosigner: given("cosignerBackupKey") };
  try {
    return makeParties({ directory, backupKeys, random: systemRandom });
  } catch (error) {
    throw error instanceof SetupError ? new CliFailure(EXIT_REFUSED, "SETUP_REFUSED", error.message) : error;
  }
}

function makeBackupKey(path: string) {
  try {
    const { file, key } = writeBackupPair(path, systemRandom);
    return { backupPrivateFile: file, backupPublicKey: key.bytes.toString("hex") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    const problem = code === "EEXIST" ? "exists already: name a new file" : `cannot be written (${code})`;
    throw new CliFailure(EXIT_REFUSED, "SETUP_REFUSED", `${path} ${problem}`);
  }
}

function changeCertificate(directory: string, isUse: boolean): MadeCertificate | UsedCertificate {
  const party = partyOfFolder(directory, textOf);
  if (party === null)
    throw new CliFailure(EXIT_USAGE, "NO_PARTY", `${directory} is no party's folder: no party.json there names one`);
  const files = filesOf(directory);
  return certified(() =>
    isUse ? useNextCertificate(files) : makeNextCertificate(files, PARTY_NAMES.indexOf(party) as Party),
  );
}

const REFUSED_CERTIFICATES: ReadonlySet<string> = new Set(["NO_NEXT", "CUT_SHORT", "FILE_EXISTS", "FILE_UNWRITABLE"]);

function certified<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof PartyCertificateError)) throw error;
    const exitCode = REFUSED_CERTIFICATES.has(error.reason) ? EXIT_REFUSED : EXIT_USAGE;
    throw new CliFailure(exitCode, error.reason, error.message);
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The problem names the folder.
    return null;
  }
}

async function runUntilStopped(directory: string, level: LogLevel, { out, untilStopped }: CliTools): Promise<null> {
  let storeFailed: () => void = () => {};
  const failure = new Promise<"failed">((settle) => {
    storeFailed = () => settle("failed");
  });
  // Heard from now on: a signal that comes during the start ends it in order too.
  const stopped = untilStopped().then(() => "stopped" as const);
  const running = await started({ directory, level, onStoreFailure: storeFailed });
  await out(`ready ${running.url}\n`);
  const end = await Promise.race([failure, stopped]);
  if (end === "failed")
    throw new CliFailure(EXIT_FAULT, "STORE_UNAVAILABLE", `the store of ${directory} failed: start it again`);
  await running.stop();
  return null;
}

interface CosignerStart {
  readonly directory: string;
  readonly level: LogLevel;
  readonly onStoreFailure: () => void;
}

async function started({ directory, level, onStoreFailure }: CosignerStart): Promise<RunningCosigner> {
  try {
    return await runCosigner({ directory, port: 0, logger: createLogger(level), onStoreFailure });
  } catch (error) {
    throw error instanceof CosignerRefused ? new CliFailure(EXIT_USAGE, "COSIGNER_REFUSED", error.message) : error;
  }
}

function backupKey(text: string): BackupPublicKey {
  const parsed = parseBackupPublicKey(text);
  if (parsed.ok) return parsed.key;
  throw new InvalidArgumentError(parsed.problem);
}
