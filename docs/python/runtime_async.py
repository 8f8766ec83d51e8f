class _Threads:
    """A few daemon threads that run functions: the standard library has no HTTP client for asyncio."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: queue.SimpleQueue[Optional[Tuple[Any, Callable[[], Any]]]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._started = 0

    def submit(self, job: Callable[[], T]) -> concurrent.futures.Future[T]:
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._jobs.put((future, job))
        if not self._idle.acquire(blocking=False):
            with self._lock:
                if self._started < self._most:
                    self._started += 1
                    threading.Thread(target=self._run, name="skein", daemon=True).start()
        return future

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            _perform(*job)
            del job
            self._idle.release()

    def close(self) -> None:
        with self._lock:
            for _ in range(self._started):
                self._jobs.put(None)


def _perform(future: Any, job: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except BaseException as error:  # the caller gets it
        future.set_exception(error)


class _AsyncIterator(Generic[T]):
    """An iterator that a separate thread reads. A canceled read loses nothing."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._source: Any = None
        self._threads = _Threads(1)
        self._pending: Optional[concurrent.futures.Future[Any]] = None
        self._over = False

    def __aiter__(self: _Self) -> _Self:
        return self

    def _next(self) -> Any:
        if self._source is None:
            self._source = self._make()
        if self._over:
            return _END
        return next(self._source, _END)

    async def __anext__(self) -> T:
        if self._over:
            raise StopAsyncIteration
        if self._pending is None:
            self._pending = self._threads.submit(self._next)
        pending = self._pending
        try:
            item = await asyncio.shield(asyncio.wrap_future(pending))
        finally:
            if pending.done() and self._pending is pending:
                self._pending = None
        if item is _END:
            await self.aclose()
            raise StopAsyncIteration
        return cast(T, item)

    async def aclose(self) -> None:
        """Ends it. What it does on the server continues."""
        self._over = True
        source = self._source
        if isinstance(source, (Stream, ByteStream)):
            source.close()
        self._threads.close()

    def __del__(self) -> None:
        self._over = True
        if isinstance(self._source, Stream):
            self._source.close()
        self._threads.close()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


_END = object()


class AsyncStream(_AsyncIterator[T]):
    """Updates as they arrive, as of `Stream`: `async for`, reconnecting. The first read sends the request."""

    @property
    def position(self) -> Optional[str]:
        """The position of the last event, to resume from in another process."""
        return None if self._source is None else cast(Optional[str], self._source.position)

    @property
    def result(self) -> Optional[RunResult]:
        """Why the run ended; None before the end, and for streams that are no run."""
        return None if self._source is None else cast("Optional[RunResult]", self._source.result)

    async def wait(self) -> RunResult:
        """Reads to the end, and returns why the run ended."""
        async for _ in self:
            pass
        if self.result is None:
            raise SkeinError("unavailable", "the stream ended before the run did")
        return self.result


class AsyncByteStream(_AsyncIterator[bytes]):
    """The bytes of a response, as they arrive."""

    async def read(self) -> bytes:
        """All remaining bytes."""
        return b"".join([piece async for piece in self])


AsyncSource = Union[Source, AsyncIterable[bytes]]
"""Bytes to upload: as `Source`, or from an asynchronous iterable."""


class _AsyncCalls:
    """What asynchronous clients and sessions share. They use a synchronous one in threads."""

    _sync: Any
    _threads: _Threads

    async def _in_thread(self, job: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._threads.submit(job))

    async def _call(self, name: str, params: Mapping[str, Any], **options: Any) -> Any:
        source = options.get("source")
        if isinstance(source, AsyncIterable):
            options["source"] = _pieces_of(source, asyncio.get_running_loop())
        return await self._in_thread(lambda: self._sync._call(name, params, **options))

    def _bytes(self, name: str, params: Mapping[str, Any], **options: Any) -> AsyncByteStream:
        return AsyncByteStream(lambda: self._sync._bytes(name, params, **options))

    def _made(self, answer: Mapping[str, Any]) -> AsyncSession:
        return AsyncSession(self._sync._made(answer), self._threads)

    def _stream(self, name: str, params: Mapping[str, Any], **options: Any) -> AsyncStream[Any]:
        return AsyncStream(lambda: self._sync._stream(name, params, **options))


def _pieces_of(source: AsyncIterable[bytes], loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
    """Reads an asynchronous iterable in another thread than its loop's."""
    pieces = source.__aiter__()

    async def following() -> Any:
        try:
            return await pieces.__anext__()
        except StopAsyncIteration:
            return _END

    while True:
        piece = asyncio.run_coroutine_threadsafe(following(), loop).result()
        if piece is _END:
            return
        yield piece


class _AsyncClientBase(_AsyncCalls):
    """A server's engine, for asyncio. Requests run in up to `threads` threads, each stream in its own.

    Canceling a task ends the wait for a call, and not the call.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        *,
        timeout: float = 300.0,
        ssl_context: Optional[ssl.SSLContext] = None,
        threads: int = 16,
    ) -> None:
        self._sync: Client = Client(url, token, timeout=timeout, ssl_context=ssl_context)
        self._threads = _Threads(threads)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._sync._wire.url!r})"

    async def session(self, id: str) -> AsyncSession:
        """A session by its id, or by a unique id suffix of at least 4 characters."""
        found = await self._in_thread(lambda: self._sync.session(id))
        return AsyncSession(found, self._threads)

    async def me(self) -> Me:
        """The caller as the server sees it: actor, tenant, scopes, and the server's version."""
        return await self._in_thread(self._sync.me)

    def iter_sessions(self, **options: Any) -> AsyncIterator[SessionRow]:
        """All sessions that fit, page by page. Takes the options of `sessions`."""
        return _AsyncIterator(lambda: self._sync.iter_sessions(**options))

    def iter_feed_pages(
        self, after: str = "", *, family: Optional[str] = None
    ) -> AsyncIterator[FeedResult]:
        """The events of all sessions so far, in the order of the store. Resume after a page's `position`."""
        return _AsyncIterator(lambda: self._sync.iter_feed_pages(after, family=family))

    def follow(
        self, *, after: Optional[str] = None, family: Optional[str] = None
    ) -> AsyncStream[FeedUpdate]:
        """Follows the events of all sessions, or of a session and its relatives, with deltas."""
        return AsyncStream(lambda: self._sync.follow(after=after, family=family))

    async def aclose(self) -> None:
        """Ends this client's streams and connections. The server and its sessions continue."""
        self._sync.close()
        self._threads.close()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _AsyncSessionBase(_AsyncCalls):
    """A session of a server, for asyncio."""

    def __init__(self, sync: Session, threads: _Threads) -> None:
        self._sync: Session = sync
        self._threads = threads

    @property
    def id(self) -> str:
        return self._sync.id

    @property
    def carried_over(self) -> Any:
        """Of a successor: what carried over and what did not."""
        return self._sync.carried_over

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._sync.id!r})"

    def watch(self) -> AsyncStream[SessionUpdate]:
        """Runs the session, and returns its updates from now on: events and deltas."""
        return AsyncStream(self._sync.watch)

    def follow(
        self,
        *,
        from_seq: Optional[int] = None,
        after: Optional[str] = None,
        types: Optional[Sequence[str]] = None,
        deltas: bool = True,
    ) -> AsyncStream[SessionUpdate]:
        """Follows the log from its first event, from `from_seq`, or after a position: events and deltas."""
        return AsyncStream(
            lambda: self._sync.follow(from_seq=from_seq, after=after, types=types, deltas=deltas)
        )

    def iter_events(
        self,
        *,
        from_seq: Optional[int] = None,
        to_seq: Optional[int] = None,
        types: Optional[Sequence[str]] = None,
        reverse: bool = False,
    ) -> AsyncIterator[Event]:
        """The events of the log so far, page by page; with `reverse` from the last one."""
        return _AsyncIterator(
            lambda: self._sync.iter_events(from_seq=from_seq, to_seq=to_seq, types=types, reverse=reverse)
        )

    def iter_records(self) -> AsyncIterator[Any]:
        """The stored records, with their hashes."""
        return _AsyncIterator(self._sync.iter_records)
