class SkeinError(Exception):
    """An error of the server or of the connection.

    `code` is for programs: the code of the server's answer ("invalid", "not-found", "refused", "conflict",
    "forbidden", "rate-limited", and others), or "unavailable" (no server was reached, and nothing changed) or
    "unknown" (no answer: the change may or may not have taken effect). `hint` says what to do next, `field`
    names the invalid input, and `status` is the HTTP status, None without an answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: Optional[str] = None,
        field: Optional[str] = None,
        status: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.field = field
        self.status = status

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"

    def __repr__(self) -> str:
        return f"SkeinError({self.code!r}, {self.message!r}, field={self.field!r}, status={self.status!r})"


class _Lost(Exception):
    """A failure that passes: no answer, a part of one, or a request to wait."""

    def __init__(
        self, cause: BaseException, *, may_have_arrived: bool, wait: float = 0.0, timed_out: bool = False
    ) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.may_have_arrived = may_have_arrived
        self.wait = wait
        self.timed_out = timed_out


class _Unset:
    """The value of a parameter that is left out, where None is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()

_TRIES_MAX = 8
_STREAM_TRIES_MAX = 20
_FIRST_WAIT = 0.1
_WAIT_MAX = 5.0
_RETRY_AFTER_MAX = 60.0
_CONNECT_TIMEOUT = 10.0
# The server sends a heartbeat every 15 seconds.
_SILENCE_MAX = 45.0
_IDLE_CONNECTIONS_MAX = 8
_CHUNK_BYTES = 65_536
_SAFE_INTEGER = 2**53 - 1
_PASSING = (429, 502, 503, 504)

Source = Union[bytes, bytearray, memoryview, BinaryIO, Iterable[bytes]]
"""Bytes to upload: in memory, from a file that is open for reading, or piece by piece."""


def _wait_before(tries: int) -> float:
    return min(_WAIT_MAX, _FIRST_WAIT * 2**tries) * (0.5 + random.random() / 2)


def _new_key() -> str:
    """A UUID of version 7: ids that derive from it sort by time."""
    tail = secrets.token_hex(9)
    head = f"{int(time.time() * 1000):012x}"
    return f"{head[:8]}-{head[8:]}-7{tail[:3]}-8{tail[3:6]}-{tail[6:]}"


def _header_text(text: str) -> str:
    if re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", text) and not text.startswith("UTF-8''"):
        return text
    return "UTF-8''" + urllib.parse.quote(text, safe="!'()*-._~")


def _check_json(where: str, value: Any) -> None:
    """Refuses what JSON, or a reader of it in JavaScript, would change."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise SkeinError("invalid", f"{where}: expected Unicode text, got a lone surrogate") from None
    elif isinstance(value, int):
        if abs(value) > _SAFE_INTEGER:
            raise SkeinError(
                "invalid", f"{where}: expected an integer of at most 2^53 - 1", hint="send it as a string"
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise SkeinError("invalid", f"{where}: expected a finite number, got {value}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check_json(f"{where}[{index}]", item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise SkeinError("invalid", f"{where}: expected strings as keys, got {type(name).__name__}")
            _check_json(f"{where}.{name}", name)
            _check_json(f"{where}.{name}", item)
    else:
        raise SkeinError("invalid", f"{where}: expected JSON, got {type(value).__name__}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _query(operation: _Operation, params: Mapping[str, Any]) -> str:
    """A text is unchanged, a list repeats the name, and any other value is JSON."""
    pairs: List[Tuple[str, str]] = []
    for name, value in params.items():
        form = operation.forms.get(name, "json")
        many = value if form == "list" and isinstance(value, (list, tuple)) and value else [value]
        for one in many:
            is_plain = isinstance(one, str) and not (form == "json" and _is_json(one))
            pairs.append((name, one if is_plain else _compact(one)))
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


class _Request(NamedTuple):
    operation: _Operation
    target: str
    headers: Dict[str, str]
    body: Any
    is_replayable: bool
    timeout: float


class _Answer:
    """A response, and the connection that it uses."""

    def __init__(
        self,
        wire: _Wire,
        connection: http.client.HTTPConnection,
        sock: Any,
        response: http.client.HTTPResponse,
        is_upload: bool,
    ) -> None:
        self._wire = wire
        self._connection = connection
        self._sock = sock
        self.response = response
        # The server may have answered before it read the whole body.
        self._is_upload = is_upload

    def read(self) -> bytes:
        """All bytes; the connection is kept for the next request."""
        try:
            data = self.response.read()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise _Lost(
                error, may_have_arrived=True, timed_out=isinstance(error, socket.timeout)
            ) from error
        if self.response.will_close or self._is_upload:
            self.close()
        else:
            self._wire.keep(self._connection)
        return data

    def read_some(self) -> bytes:
        """The bytes that are there, at least one; empty at the end."""
        try:
            return self.response.read1(_CHUNK_BYTES)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            raise _Lost(
                error, may_have_arrived=True, timed_out=isinstance(error, socket.timeout)
            ) from error

    def abort(self) -> None:
        """Ends a read that another thread is in."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError, AttributeError):
            pass

    def close(self) -> None:
        self.abort()
        self._connection.close()
        try:
            self.response.close()
        except (OSError, ValueError):
            pass


class _Wire:
    """Requests to one server. Every change has an idempotency key, so that it is repeated safely."""

    def __init__(
        self, url: str, token: Optional[str], timeout: float, context: Optional[ssl.SSLContext]
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise SkeinError(
                "invalid", "Client: url: expected an http:// or https:// URL",
                hint='for example "http://127.0.0.1:7717"',
            )
        if token is not None and not re.fullmatch(r"[!-~]+", token):
            raise SkeinError(
                "invalid", "Client: token: expected a Skein token", hint="a token begins with skn_"
            )
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._token = token
        is_https = parts.scheme == "https"
        self._context = (context or ssl.create_default_context()) if is_https else None
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.streams: weakref.WeakSet[Any] = weakref.WeakSet()

    # Connections

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        connect_timeout = min(timeout, _CONNECT_TIMEOUT)
        made: http.client.HTTPConnection
        if self._context is None:
            made = http.client.HTTPConnection(
                self._host, self._port, timeout=connect_timeout, blocksize=_CHUNK_BYTES
            )
        else:
            made = http.client.HTTPSConnection(
                self._host, self._port, timeout=connect_timeout, context=self._context, blocksize=_CHUNK_BYTES
            )
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            raise SkeinError(
                "unavailable", f"connection to {self.url} failed: {error.verify_message}",
                hint="pass ssl_context for certificates of your own",
            ) from error
        except OSError as error:
            made.close()
            raise _Lost(error, may_have_arrived=False) from error
        return made

    def keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self.closing.is_set() and len(self._idle) < _IDLE_CONNECTIONS_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def _take(self) -> Optional[http.client.HTTPConnection]:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def close(self) -> None:
        self.closing.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        for stream in list(self.streams):
            stream._cut()

    def __del__(self) -> None:
        for connection in getattr(self, "_idle", ()):
            connection.close()

    def check_open(self) -> None:
        if self.closing.is_set():
            raise SkeinError("unavailable", "the client is closed")

    # Requests

    def prepare(
        self,
        name: str,
        params: Mapping[str, Any],
        *,
        session: str = "",
        source: Any = None,
        idempotency_key: Optional[str] = None,
        if_match: Optional[int] = None,
        timeout: Optional[float] = None,
        accept: Optional[str] = None,
    ) -> _Request:
        operation = _OPERATIONS[name]
        call = name.partition(".")[2]
        given = {
            field: value
            for field, value in params.items()
            if value is not UNSET and (value is not None or field in operation.nullable)
        }
        for field, value in given.items():
            _check_json(f"{call}: {field}", value)
        headers = {"Accept": accept or operation.accept, "Skein-Client": "1"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if operation.method != "GET":
            headers["Idempotency-Key"] = _header_text(idempotency_key or _new_key())
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        target = self._path + operation.path.replace("{id}", urllib.parse.quote(session, safe=""))
        body: Any = None
        is_replayable = True
        if operation.takes == "json":
            headers["Content-Type"] = "application/json"
            body = _compact(given).encode("utf-8")
        else:
            target += _query(operation, given)
        if operation.takes == "bytes":
            headers["Content-Type"] = "application/octet-stream"
            body, is_replayable = _body_of(call, source, headers)
        wanted = self.timeout if timeout is None else timeout
        return _Request(operation, target, headers, body, is_replayable, wanted)

    def attempt(self, request: _Request) -> _Answer:
        """Sends the request once. A failure that passes is `_Lost`; a refusal is the server's error."""
        was_sent = False
        while True:
            self.check_open()
            kept = self._take() if request.is_replayable else None
            try:
                connection = kept or self._connect(request.timeout)
            except _Lost as lost:
                lost.may_have_arrived = lost.may_have_arrived or was_sent
                raise
            sock = connection.sock
            try:
                sock.settimeout(request.timeout)
                response = self._send(connection, request)
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                timed_out = isinstance(error, socket.timeout)
                # The server closes idle connections.
                if kept is not None and not timed_out:
                    was_sent = True
                    continue
                raise _Lost(error, may_have_arrived=True, timed_out=timed_out) from error
            except BaseException:
                connection.close()
                raise
            answer = _Answer(self, connection, sock, response, request.operation.takes == "bytes")
            if 200 <= response.status < 300:
                return answer
            raise _error_of(answer)

    def _send(
        self, connection: http.client.HTTPConnection, request: _Request
    ) -> http.client.HTTPResponse:
        body = request.body() if callable(request.body) else request.body
        try:
            connection.request(
                request.operation.method, request.target, body=body, headers=request.headers,
                encode_chunked="Transfer-Encoding" in request.headers,
            )
        except (BrokenPipeError, ConnectionResetError):
            # A server that refuses a large body answers before it has read it.
            if request.operation.takes != "bytes":
                raise
        return connection.getresponse()

    def retrying(self, request: _Request, use: Callable[[_Answer], Any]) -> Any:
        may_be_done = False
        tries = 0
        while True:
            try:
                return use(self.attempt(request))
            except _Lost as lost:
                self.check_open()
                is_change = request.operation.method != "GET"
                may_be_done = may_be_done or (is_change and lost.may_have_arrived)
                tries += 1
                if lost.timed_out or not request.is_replayable or tries >= _TRIES_MAX:
                    raise self._failed(request, lost, may_be_done) from lost.cause
                self.sleep(max(lost.wait, _wait_before(tries - 1)))

    def sleep(self, seconds: float) -> None:
        if self.closing.wait(seconds):
            self.check_open()

    def _failed(self, request: _Request, lost: _Lost, may_be_done: bool) -> SkeinError:
        call = request.operation.path
        if isinstance(lost.cause, SkeinError) and (not may_be_done or lost.cause.code == "unknown"):
            return lost.cause
        why = f"no response within {request.timeout:g} s" if lost.timed_out else "no response"
        if may_be_done:
            return SkeinError(
                "unknown", f"{call}: {why} from {self.url}",
                hint="the call may or may not have taken effect; "
                "read the current state, or repeat it with the same idempotency_key",
            )
        if lost.timed_out:
            return SkeinError("unavailable", f"{call}: {why} from {self.url}", hint="pass a longer timeout")
        return SkeinError(
            "unavailable", f"connection to {self.url} failed: {lost}", hint='start the server: "skein serve"'
        )

    def call(self, name: str, params: Mapping[str, Any], **options: Any) -> Any:
        """The JSON of the response; None where there is none."""
        request = self.prepare(name, params, **options)

        def use(answer: _Answer) -> Any:
            data = answer.read()
            if answer.response.status == 204:
                return None
            try:
                return json.loads(data)
            except ValueError as error:
                raise _Lost(error, may_have_arrived=True) from error

        result = self.retrying(request, use)
        # A retry under a key that the caller does not know reports the first result.
        if options.get("idempotency_key") is None and isinstance(result, dict):
            if result.get("duplicate") is True:
                result["duplicate"] = False
        return result

    def open_bytes(self, name: str, params: Mapping[str, Any], **options: Any) -> ByteStream:
        request = self.prepare(name, params, **options)
        return ByteStream(self, self.retrying(request, lambda answer: answer), request)


def _body_of(call: str, source: Any, headers: Dict[str, str]) -> Tuple[Any, bool]:
    """The body of an upload, and whether it can be sent twice."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), True
    if isinstance(source, str) or not (hasattr(source, "read") or hasattr(source, "__iter__")):
        raise SkeinError(
            "invalid", f"{call}: source: expected bytes, a file or an iterable of bytes, "
            f"got {type(source).__name__}",
        )
    headers["Transfer-Encoding"] = "chunked"
    if not hasattr(source, "read"):
        return (piece for piece in source if piece), False
    if isinstance(source, io.TextIOBase):
        raise SkeinError("invalid", f"{call}: source: expected a binary file", hint='open it with "rb"')
    start = source.tell() if source.seekable() else None

    def pieces() -> Iterator[bytes]:
        if start is not None:
            source.seek(start)
        while True:
            piece = source.read(_CHUNK_BYTES)
            if not piece:
                return
            yield piece

    return pieces, start is not None


def _error_of(answer: _Answer) -> Exception:
    """The error of a response whose status is not 2xx."""
    status = answer.response.status
    after = answer.response.headers.get("Retry-After", "")
    wait = min(float(after), _RETRY_AFTER_MAX) if re.fullmatch(r"[0-9]{1,9}", after) else 0.0
    try:
        problem = json.loads(answer.read())
    except (_Lost, ValueError):
        problem = None
    may_have_arrived = status != 429
    if isinstance(problem, dict) and isinstance(problem.get("code"), str):
        error = _problem_error(problem, status)
        may_have_arrived = error.code == "unknown"
    else:
        error = SkeinError(
            "unavailable", f"the server answered {status}, and not as Skein does", status=status,
            hint="check that the URL is a Skein server",
        )
    if status in _PASSING:
        return _Lost(error, may_have_arrived=may_have_arrived, wait=wait)
    return error


def _problem_error(problem: Mapping[str, Any], status: Optional[int]) -> SkeinError:
    return SkeinError(
        str(problem.get("code")),
        str(problem.get("detail")),
        hint=problem.get("hint"),
        field=problem.get("field"),
        status=status if status is not None else problem.get("status"),
    )


class ByteStream:
    """The bytes of a response, as they arrive: an iterator, and a context manager that ends it."""

    def __init__(self, wire: _Wire, answer: _Answer, request: _Request) -> None:
        self._wire = wire
        self._answer: Optional[_Answer] = answer
        self._call = request.operation.path
        self._is_cut = False
        wire.streams.add(self)

    def __iter__(self) -> ByteStream:
        return self

    def __next__(self) -> bytes:
        if self._is_cut:
            self._wire.check_open()
        if self._answer is None:
            raise StopIteration
        try:
            piece = self._answer.read_some()
        except _Lost as lost:
            self.close()
            raise SkeinError(
                "unavailable", f"{self._call}: the response was cut", hint="repeat the call"
            ) from lost.cause
        if not piece:
            # The response has ended early if it announced more bytes.
            missing = self._answer.response.length
            self.close()
            if missing:
                raise SkeinError(
                    "unavailable", f"{self._call}: the response was cut", hint="repeat the call"
                )
            raise StopIteration
        return piece

    def read(self) -> bytes:
        """All remaining bytes."""
        return b"".join(self)

    def lines(self) -> Iterator[bytes]:
        """The bytes line by line, without the line ends."""
        rest = b""
        for piece in self:
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
        if rest:
            yield rest

    def close(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.close()

    def _cut(self) -> None:
        """The client is closed: the rest is missing."""
        self._is_cut = self._answer is not None
        self.close()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Frame(NamedTuple):
    id: Optional[str]
    event: str
    data: str


class _Frames:
    """Server-sent events, from bytes in any pieces."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._clear()

    def _clear(self) -> None:
        self._id: Optional[str] = None
        self._event = ""
        self._data: List[str] = []

    def feed(self, piece: bytes) -> Iterator[_Frame]:
        start = len(self._rest)
        self._rest += piece
        taken = 0
        while True:
            end = self._rest.find(b"\n", max(start, taken))
            if end < 0:
                break
            line = self._rest[taken:end].rstrip(b"\r").decode("utf-8")
            taken = end + 1
            frame = self._line(line)
            if frame is not None:
                yield frame
        del self._rest[:taken]

    def _line(self, line: str) -> Optional[_Frame]:
        if line == "":
            has_frame = bool(self._data) or self._id is not None
            frame = _Frame(self._id, self._event or "message", "\n".join(self._data))
            self._clear()
            return frame if has_frame else None
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            self._id = value
        elif name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        return None


class _Answers:
    """Model answers in progress.

    After a disconnect, deltas of an answer are missing: later ones would look like the whole, so they are
    left out. The finished message arrives as an event.
    """

    def __init__(self) -> None:
        self._asked: Dict[str, int] = {}
        self._half: Dict[str, int] = {}

    def is_half(self, delta: Mapping[str, Any]) -> bool:
        session, request = delta.get("session"), delta.get("requestSeq")
        if session is not None:
            return self._half.get(session) == request
        return request in self._half.values()

    def see(self, event: Mapping[str, Any]) -> None:
        kind, session = event.get("type"), str(event.get("session"))
        if kind == "model.requested":
            self._asked[session] = int(event.get("seq", 0))
        elif kind in ("model.responded", "model.failed"):
            self._asked.pop(session, None)
            self._half.pop(session, None)

    def cut(self) -> None:
        self._half.update(self._asked)

    def forget(self) -> None:
        self._asked.clear()
        self._half.clear()


T = TypeVar("T")


class Stream(Generic[T]):
    """Updates as they arrive: an iterator that reconnects, and a context manager that ends it.

    The request is sent with the first read. Every event arrives once and in order, through any number of
    disconnects and restarts of the server: the stream resumes after the last event that it returned. Leaving
    a stream, or `close`, cancels nothing on the server.
    """

    def __init__(
        self, wire: _Wire, request: _Request, *, is_feed: bool = False, last_id: Optional[str] = None
    ) -> None:
        self._wire = wire
        self._request = request
        self._is_feed = is_feed
        self._updates: Any = self._read()
        self._answer: Optional[_Answer] = None
        self._is_cut = False
        self._closed = False
        self._alive = False
        #: The position of the last event, to resume from in another process.
        self.position: Optional[str] = last_id
        #: Why the run ended; None before the end, and for streams that are no run.
        self.result: Optional[RunResult] = None
        wire.streams.add(self)

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> T:
        if self._is_cut:
            self._wire.check_open()
        try:
            return cast(T, next(self._updates))
        except SkeinError:
            if self._closed and not self._wire.closing.is_set():
                raise StopIteration from None
            raise

    def wait(self) -> RunResult:
        """Reads to the end, and returns why the run ended."""
        for _ in self:
            pass
        if self.result is None:
            raise SkeinError("unavailable", "the stream ended before the run did")
        return self.result

    def close(self) -> None:
        """Ends the stream, from any thread. What it does on the server continues."""
        self._closed = True
        self._release()

    def _cut(self) -> None:
        """The client is closed: the rest is missing."""
        self._is_cut = self._updates.gi_frame is not None
        self._release()

    def _release(self) -> None:
        answer = self._answer
        if answer is not None:
            answer.abort()
        try:
            self._updates.close()
        except ValueError:
            pass  # another thread is in a read, which ends now

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> Iterator[Any]:
        answers = _Answers()
        tries = 0
        while not self._closed:
            wait = 0.0
            cause: BaseException
            self._alive = False
            try:
                for frame in self._connection():
                    if frame.event == "end":
                        return
                    update = self._update_of(frame, answers)
                    if frame.id is not None:
                        self.position = frame.id
                    if update is not None:
                        yield update
                    if self.result is not None:
                        return
                cause = EOFError("the stream was cut")
            except _Lost as lost:
                wait, cause = lost.wait, lost.cause
            self._wire.check_open()
            if self._closed:
                return
            tries = 0 if self._alive else tries
            if tries >= _STREAM_TRIES_MAX:
                raise SkeinError(
                    "unavailable", "the stream was cut, and reconnecting failed",
                    hint="the run continues on the server; resume from the last position",
                ) from cause
            answers.cut()
            self._wire.sleep(max(wait, _wait_before(tries)))
            tries += 1

    def _connection(self) -> Iterator[_Frame]:
        """The frames of one connection."""
        request = self._request
        headers, target = dict(request.headers), request.target
        if self.position is not None and not self._is_feed:
            headers["Last-Event-ID"] = self.position
        elif self.position is not None:
            # A position of the feed may be empty, which a header cannot say.
            mark = "&" if "?" in target else "?"
            target += f"{mark}{urllib.parse.urlencode({'after': self.position})}"
        answer = self._wire.attempt(
            request._replace(headers=headers, target=target, timeout=_SILENCE_MAX)
        )
        self._answer = answer
        frames = _Frames()
        try:
            while not self._closed:
                piece = answer.read_some()
                if not piece:
                    return
                for frame in frames.feed(piece):
                    self._alive = True
                    yield frame
                self._alive = self._alive or b": beat" in piece
        finally:
            self._answer = None
            answer.close()

    def _update_of(self, frame: _Frame, answers: _Answers) -> Any:
        # A position without an event.
        if frame.data == "":
            return None
        value = json.loads(frame.data)
        if frame.event == "problem":
            raise _problem_error(value, None)
        if frame.event == "ran":
            self.result = value
            return None
        if frame.event == "rollback":
            answers.forget()
            return {"rollback": value["after"]}
        if frame.event == "delta":
            if answers.is_half(value):
                return None
            if not self._is_feed:
                return value
            session = value.pop("session", None)
            return {"session": session, "delta": value}
        if frame.id is None:
            return None
        answers.see(value)
        return {"event": value, "position": frame.id} if self._is_feed else value


class FeedUpdate(TypedDict, total=False):
    """An update of any log: `event` and its `position`; or `delta` and its `session`; or `rollback`.

    `rollback`: the store fell back to an earlier copy of itself. Events after that position are repeated;
    None is the beginning.
    """

    event: Event
    position: str
    session: str
    delta: LiveDelta
    rollback: Optional[str]


_PAGE_EVENTS = 500


class _Calls:
    """What clients and sessions share."""

    _wire: _Wire
    _id: str = ""

    def _call(self, name: str, params: Mapping[str, Any], **options: Any) -> Any:
        return self._wire.call(name, params, session=options.pop("session", self._id), **options)

    def _bytes(self, name: str, params: Mapping[str, Any], **options: Any) -> ByteStream:
        return self._wire.open_bytes(name, params, session=options.pop("session", self._id), **options)

    def _made(self, answer: Mapping[str, Any]) -> Session:
        return Session(self._wire, answer["session"], answer.get("carriedOver"))

    def _stream(
        self, name: str, params: Mapping[str, Any], *, last_id: Optional[str] = None, **options: Any
    ) -> Stream[Any]:
        request = self._wire.prepare(
            name, params, session=self._id, accept="text/event-stream", **options
        )
        return Stream(self._wire, request, is_feed=name == "engine.feed", last_id=last_id)


class _ClientBase(_Calls):
    """A server's engine. Safe to use from many threads."""

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        *,
        timeout: float = 300.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """`timeout`: seconds without a byte before a call fails; streams have their own, 45 seconds."""
        self._wire = _Wire(url, token, timeout, ssl_context)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._wire.url!r})"

    def session(self, id: str) -> Session:
        """A session by its id, or by a unique id suffix of at least 4 characters."""
        if not isinstance(id, str) or id == "":
            raise SkeinError("invalid", "session: id: expected a session id")
        if re.fullmatch(r"ses_[0-9a-z]{26}", id):
            self._call("session.head", {}, session=id)
            return Session(self._wire, id)
        return Session(self._wire, self._call("engine.session", {}, session=id)["id"])

    def me(self) -> Me:
        """The caller as the server sees it: actor, tenant, scopes, and the server's version."""
        return cast("Me", self._call("server.me", {}))

    def iter_sessions(self, **options: Any) -> Iterator[SessionRow]:
        """All sessions that fit, page by page. Takes the options of `sessions`."""
        cursor = options.pop("cursor", None)
        while True:
            page = cast(Any, self).sessions(cursor=cursor, **options)
            yield from page["rows"]
            if page["cursor"] is None or page["cursor"] == cursor:
                return
            cursor = page["cursor"]

    def iter_feed_pages(self, after: str = "", *, family: Optional[str] = None) -> Iterator[FeedResult]:
        """The events of all sessions so far, in the order of the store. Resume after a page's `position`."""
        while True:
            page = self._call("engine.feed", {"after": after, "family": family})
            yield page
            if page["position"] == after or (not page["events"] and family is None):
                return
            after = page["position"]

    def follow(
        self, *, after: Optional[str] = None, family: Optional[str] = None
    ) -> Stream[FeedUpdate]:
        """Follows the events of all sessions, or of a session and its relatives, with deltas.

        `after`: a position that you received; an empty one is the beginning of the store, None is now.
        """
        return self._stream("engine.feed", {"family": family, "follow": True}, last_id=after)

    def close(self) -> None:
        """Ends this client's streams and connections. The server and its sessions continue."""
        self._wire.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _SessionBase(_Calls):
    """A session of a server. It holds only the id."""

    def __init__(self, wire: _Wire, id: str, carried_over: Any = None) -> None:
        self._wire = wire
        self._id = id
        #: Of a successor: what carried over and what did not.
        self.carried_over: Any = carried_over

    @property
    def id(self) -> str:
        return self._id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._id!r})"

    def watch(self) -> Stream[SessionUpdate]:
        """Runs the session, and returns its updates from now on: events and deltas."""
        head = self._call("session.head", {})
        return self._stream("session.watch", {}, last_id=str(head["seq"]))

    def follow(
        self,
        *,
        from_seq: Optional[int] = None,
        after: Optional[str] = None,
        types: Optional[Sequence[str]] = None,
        deltas: bool = True,
    ) -> Stream[SessionUpdate]:
        """Follows the log from its first event, from `from_seq`, or after a position: events and deltas."""
        params = {"fromSeq": from_seq, "types": types, "deltas": deltas, "follow": True}
        return self._stream("session.events", params, last_id=after)

    def iter_events(
        self,
        *,
        from_seq: Optional[int] = None,
        to_seq: Optional[int] = None,
        types: Optional[Sequence[str]] = None,
        reverse: bool = False,
    ) -> Iterator[Event]:
        """The events of the log so far, page by page; with `reverse` from the last one."""
        params: Dict[str, Any] = {"types": types, "limit": _PAGE_EVENTS}
        if reverse:
            params["reverse"] = True
        while True:
            page = self._call("session.events", {**params, "fromSeq": from_seq, "toSeq": to_seq})
            yield from page["events"]
            following = page["next"]
            if following is None:
                return
            if following == (to_seq if reverse else from_seq):
                raise SkeinError("corrupt", f"events: the page from {following} repeats the previous page")
            if reverse:
                to_seq = following
            else:
                from_seq = following

    def iter_records(self) -> Iterator[Any]:
        """The stored records, with their hashes."""
        with self._bytes("session.records", {}) as stream:
            for line in stream.lines():
                yield json.loads(line)
