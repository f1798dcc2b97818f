/**
 * The commands of `unwind` and their options. Most make one operation of the administration; what is printed and how it
 * ends are in run-cli.ts.
 */
import { Command } from "commander";
import { AUDIT_LIMIT_DEFAULT } from "../admin/parameters.js";
import type { AdminOperation } from "../admin/protocol.js";
import type { AuditPage } from "../auth/audit.js";
import type { KeyView, NewSecret } from "../auth/key-admin.js";
import { SCOPES } from "../../schemas/operation.js";
import { addToList, durationMs, wholeNumber } from "./arguments.js";
import {
  call,
  COSIGNER_FLAG,
  COSIGNER_TEXT,
  defined,
  JSON_FLAG,
  JSON_TEXT,
  type Options,
  type ProgramParts,
} from "./cli-call.js";
import { addCosigner, addCustody } from "./custody-commands.js";
import { auditText, fieldsText, keysText, secretText } from "./output.js";
import { addReconcile } from "./reconcile-command.js";
import { addWallets } from "./wallet-commands.js";

const EXITS = `
Exit codes: 0 done; 1 a fault, or an outcome that is not known; 2 wrong use or configuration; 3 refused;
4 no service answers and its store cannot be opened; reconcile: 5 something differs, 6 something could not be compared.

Settings are those of the service (docs/configuration.md): DATA_DIR, ADMIN_SOCKET, and KEK_FILE where no service runs.`;

export function createProgram(parts: ProgramParts): Command {
  const program = new Command("unwind")
    .description("Administers this installation: through its running service, or on its store while none runs.")
    .version(parts.version)
    .exitOverride()
    .configureOutput({ writeOut: parts.out, writeErr: parts.error })
    .showHelpAfterError("(--help lists what is possible)")
    .addHelpText("after", EXITS);
  addKeys(program.command("keys").description("API keys"), parts);
  const audit = program.command("audit").description("the record of administrative acts, newest first");
  audit
    .option("--limit <count>", "rows at most", wholeNumber, AUDIT_LIMIT_DEFAULT)
    .option("--cursor <cursor>", "from the page before")
    .option(COSIGNER_FLAG, COSIGNER_TEXT)
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) =>
      parts.run(
        call("audit.page", defined({ limit: options["limit"], cursor: options["cursor"] }), options, (page) =>
          auditText(page as AuditPage),
        ),
      ),
    );
  addFields(
    program.command("status").description("what runs on DATA_DIR").option(COSIGNER_FLAG, COSIGNER_TEXT),
    "status",
    parts,
  );
  addSeal(program.command("seal").description("sealed secrets"), parts);
  addFields(
    program
      .command("tls")
      .description("the certificate")
      .command("reload")
      .description("take up the certificate that is in the files now"),
    "tls.reload",
    parts,
  );
  addReconcile(
    program
      .command("reconcile")
      .description("compare the ledger with chains, venues and the co-signer; open a restored store"),
    parts,
  );
  addWallets(program.command("wallets").description("server wallets, which two parties sign for"), parts);
  addCustody(program.command("custody").description("the two signing parties"), parts);
  addCosigner(program.command("cosigner <folder>").description("run the co-signer of this folder"), parts);
  return program;
}

function addKeys(keys: Command, parts: ProgramParts): void {
  keys
    .command("create")
    .description("make a key; its secret is printed once")
    .requiredOption("--scope <scopes>", `what it may do: ${SCOPES.join(", ")}; several with commas`, addToList)
    .option("--owner <id>", "whose key it is: an owner with keys, or a new one (default: a new one)")
    .option("--label <text>", "a note for you")
    .option("--ip <block>", "address or CIDR block that may use it; repeatable; none: every address", addToList)
    .option("--adopt-local", "hand over to its owner what was made without a key")
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) =>
      parts.run({
        ...call("keys.create", wishOf(options), options, (made) => secretText(made as NewSecret)),
        creates: true,
      }),
    );
  keys
    .command("list")
    .description("all keys, without secrets")
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) =>
      parts.run(call("keys.list", {}, options, (list) => keysText((list as { keys: readonly KeyView[] }).keys))),
    );
  keys
    .command("rotate <key>")
    .description("give it a new secret, printed once; the former one goes on for a while")
    .option(
      "--overlap <time>",
      "how long the former secret works: 0, 90s, 30m, 24h, at most 7d",
      durationMs,
      86_400_000,
    )
    .option(JSON_FLAG, JSON_TEXT)
    .action((keyId: string, options: Options) =>
      parts.run(
        call("keys.rotate", { keyId, overlapMs: options["overlap"] }, options, (made) => secretText(made as NewSecret)),
      ),
    );
  keys
    .command("revoke <key>")
    .description("end it: from its next request on, and its streams within a second")
    .option(JSON_FLAG, JSON_TEXT)
    .action((keyId: string, options: Options) =>
      parts.run(call("keys.revoke", { keyId }, options, (key) => keysText([key as KeyView]))),
    );
}

function wishOf(options: Options): Readonly<Record<string, unknown>> {
  return defined({
    scopes: options["scope"],
    ownerId: options["owner"],
    label: options["label"],
    ips: options["ip"],
    adoptLocal: options["adoptLocal"],
  });
}

function addSeal(seal: Command, parts: ProgramParts): void {
  seal
    .command("rotate")
    .description("seal every secret again under the present key, or under a new one")
    .option("--to-file <path>", "file with the new key-encryption key (absolute path); set KEK_FILE to it afterwards")
    .option(COSIGNER_FLAG, COSIGNER_TEXT)
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) =>
      parts.run(
        call("seal.rotate", defined({ nextKeyFile: options["toFile"] }), options, (report) =>
          fieldsText(report as object),
        ),
      ),
    );
}

/** A command without options whose result is a few fields. */
function addFields(command: Command, op: AdminOperation, parts: ProgramParts): void {
  command
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) => parts.run(call(op, {}, options, (result) => fieldsText(result as object))));
}
