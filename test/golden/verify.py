"""Verifies an export of a session, written from docs/log-format.md alone: python3 verify.py session.jsonl"""
import hashlib
import json
import sys

HEADER = ["session", "seq", "at", "type", "v", "actor", "turn", "cause", "key"]


def sha256(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else part.encode("utf-8"))
    return digest.hexdigest()


def content_problem(record):
    if record["content"] is None:
        return None if record["salt"] is None else "a salt without content"
    if record["salt"] is None or record["contentHash"] is None:
        return "a content without salt and hash"
    if len(record["content"].encode("utf-8")) != record["contentBytes"]:
        return "the content has another length"
    if sha256(bytes.fromhex(record["salt"]), record["content"]) != record["contentHash"]:
        return "the content does not match its hash"
    return None


def problems(lines):
    seq, at, before, session = 0, 0, "00" * 32, None
    for line in lines:
        record = json.loads(line)
        seq += 1
        fields = ["skein1"] + [record[name] for name in HEADER] + [sha256(record["body"])]
        fields += [record["contentHash"], record["contentBytes"]]
        header = "\n".join("" if field is None else str(field) for field in fields)
        if record["seq"] != seq:
            yield f"record {seq}: its seq is {record['seq']}"
        if record["at"] < at:
            yield f"record {seq}: it is older than the record before"
        if sha256(bytes.fromhex(before), header) != record["hash"]:
            yield f"record {seq}: it does not match the chain"
        elif session is not None and session != record["session"]:
            fork = json.loads(record["body"])
            point = (record["type"], fork.get("parentSeq"), fork.get("parentHash"))
            if point != ("session.forked", seq - 1, before):
                yield f"record {seq}: another session begins here, and is no fork"
        problem = content_problem(record)
        if problem is not None:
            yield f"record {seq}: {problem}"
        at, before, session = record["at"], record["hash"], record["session"]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
        found = list(problems(file))
    print("\n".join(found) if found else "ok")
    sys.exit(1 if found else 0)
