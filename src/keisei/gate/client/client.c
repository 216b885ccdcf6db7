/* The gate's client: client SOCKET TOKEN HARNESS
 *
 * Reads what a harness tells its hook from standard input, asks the gate service, and says what it answered.
 * Exits 0 only after an explicit `A`. Everything else, whatever it is, is a refusal: JSON on standard output, a
 * reason on standard error, exit 2. C99 and POSIX, no memory allocated, two seconds for all of it.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 2000
#define WRITE_MS 1000
#define INPUT_MAX ((size_t)4 * 1024 * 1024)
#define HEAD_MAX ((size_t)128)
#define PART_MAX ((size_t)65536)
#define ANSWER_MAX (1 + 4 + PART_MAX + 4 + PART_MAX)
#define CHUNK ((size_t)512) /* POSIX's PIPE_BUF: a pipe that polls as writable takes this much without blocking */

static unsigned char request[4 + HEAD_MAX + INPUT_MAX + 1];
static unsigned char answer[ANSWER_MAX + 1];
static int64_t deadline;

static int64_t now_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return INT64_MAX; /* a clock that cannot be read has run out */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Wait until the descriptor is ready: 1, or 0 when the time is over, or -1. */
static int await(int fd, short events, int64_t until)
{
    for (;;) {
        struct pollfd watched = {fd, events, 0};
        int64_t left = until - now_ms();
        int ready;
        if (left <= 0)
            return 0;
        ready = poll(&watched, 1, (int)(left > 60000 ? 60000 : left));
        if (ready > 0)
            return watched.revents & POLLNVAL ? -1 : 1;
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
    }
}

/* Write all of it: 0, or -1 when nobody takes it. */
static int put(int fd, const unsigned char *bytes, size_t size)
{
    int64_t until = now_ms();
    until = until > INT64_MAX - WRITE_MS ? until : until + WRITE_MS;
    while (size > 0) {
        ssize_t written;
        if (await(fd, POLLOUT, until) != 1)
            return -1;
        written = write(fd, bytes, size < CHUNK ? size : CHUNK);
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (written == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
            return -1;
        }
    }
    return 0;
}

static size_t join(char *to, size_t used, size_t room, const char *text, int escape)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (used + 3 >= room)
            break;
        if (c < 0x20 || c > 0x7e)
            c = '?';
        if (escape && (c == '"' || c == '\\'))
            to[used++] = '\\';
        to[used++] = (char)c;
    }
    return used;
}

/* The refusal, in the form that stops the call in every harness we know. */
static void refuse(const char *why, int error)
{
    char reason[512], json[1200];
    size_t size = 0, used = 0;
    size = join(reason, size, sizeof reason, "keisei gate: ", 0);
    size = join(reason, size, sizeof reason, why, 0);
    if (error != 0) {
        size = join(reason, size, sizeof reason, ": ", 0);
        size = join(reason, size, sizeof reason, strerror(error), 0);
    }
    size = join(reason, size, sizeof reason, "; the call is refused because nobody judged it, which is no violation", 0);
    reason[size] = '\0';
    used = join(json, used, sizeof json, "{\"decision\":\"block\",\"reason\":\"", 0);
    used = join(json, used, sizeof json, reason, 1);
    used = join(json, used, sizeof json, "\"}", 0);
    json[used++] = '\n';
    reason[size++] = '\n';
    (void)put(STDOUT_FILENO, (unsigned char *)json, used);
    (void)put(STDERR_FILENO, (unsigned char *)reason, size);
    _exit(2);
}

static void wait_for(int fd, short events, const char *late)
{
    int ready = await(fd, events, deadline);
    if (ready == 0)
        refuse(late, 0);
    if (ready < 0)
        refuse("waiting failed", errno);
}

/* A missing descriptor would be taken by the socket, and the answer written into it. */
static void hold_standard_descriptors(void)
{
    int fd;
    for (fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            _exit(2);
}

static int is_name(const char *text, size_t shortest, size_t longest)
{
    size_t size = strlen(text), known = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return size == known && size >= shortest && size <= longest;
}

static size_t read_input(unsigned char *to)
{
    size_t size = 0;
    for (;;) {
        ssize_t got;
        wait_for(STDIN_FILENO, POLLIN, "the hook's input did not end in time");
        got = read(STDIN_FILENO, to + size, INPUT_MAX + 1 - size);
        if (got == 0)
            return size;
        if (got > 0)
            size += (size_t)got;
        else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            refuse("the hook's input cannot be read", errno);
        if (size > INPUT_MAX)
            refuse("the hook's input is larger than 4 MB", 0);
    }
}

static int dial(const char *path)
{
    struct sockaddr_un address;
    int fd, flags;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (*path == '\0' || strlen(path) >= sizeof address.sun_path)
        refuse("the socket's path is too long", 0);
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        refuse("no socket can be made", errno);
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        refuse("no socket can be made", errno);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        if (errno == EISCONN)
            break;
        if (errno != EINTR && errno != EAGAIN && errno != EINPROGRESS && errno != EALREADY)
            refuse("the gate service cannot be reached", errno);
        if (now_ms() >= deadline)
            refuse("the gate service cannot be reached in time", 0);
        (void)poll(NULL, 0, 5); /* its queue is full for the moment */
    }
    return fd;
}

static void ask(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent;
        wait_for(fd, POLLOUT, "the gate service does not listen");
        sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (sent == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
            refuse("the gate service hung up", sent < 0 ? errno : 0);
        }
    }
}

static size_t number(const unsigned char *at)
{
    return ((size_t)at[0] << 24) | ((size_t)at[1] << 16) | ((size_t)at[2] << 8) | (size_t)at[3];
}

/* The size of the whole answer, as far as it can be told from what has come; refuses what cannot be one. */
static size_t expected(size_t have)
{
    size_t out, err;
    if (have >= 1 && answer[0] != 'A' && answer[0] != 'D')
        refuse("the gate service gave an answer that is none", 0);
    if (have < 5)
        return 9;
    out = number(answer + 1);
    if (out > PART_MAX)
        refuse("the gate service gave an answer that is too long", 0);
    if (have < 5 + out + 4)
        return 5 + out + 4;
    err = number(answer + 5 + out);
    if (err > PART_MAX)
        refuse("the gate service gave an answer that is too long", 0);
    return 5 + out + 4 + err;
}

static void listen_to(int fd)
{
    size_t have = 0;
    for (;;) {
        ssize_t got;
        wait_for(fd, POLLIN, "the gate service did not answer in time");
        got = recv(fd, answer + have, sizeof answer - have, 0);
        if (got == 0)
            refuse("the gate service broke off its answer", 0);
        if (got < 0) {
            if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
                refuse("the gate service broke off its answer", errno);
            continue;
        }
        have += (size_t)got;
        if (have >= 9 && have == expected(have))
            return;
        if (have > expected(have))
            refuse("the gate service said more than an answer", 0);
    }
}

int main(int argc, char **argv)
{
    size_t size, out, err;
    int fd;
    int64_t start = now_ms();
    deadline = start > INT64_MAX - DEADLINE_MS ? start : start + DEADLINE_MS;
    (void)signal(SIGPIPE, SIG_IGN);
    hold_standard_descriptors();
    if (argc != 4 || !is_name(argv[2], 16, 64) || !is_name(argv[3], 1, 32))
        refuse("the hook is set up wrongly (usage: client SOCKET TOKEN HARNESS)", 0);

    size = 4;
    memcpy(request + size, argv[2], strlen(argv[2]));
    size += strlen(argv[2]);
    request[size++] = '\n';
    memcpy(request + size, argv[3], strlen(argv[3]));
    size += strlen(argv[3]);
    request[size++] = '\n';
    size += read_input(request + size);
    request[0] = (unsigned char)((size - 4) >> 24);
    request[1] = (unsigned char)((size - 4) >> 16);
    request[2] = (unsigned char)((size - 4) >> 8);
    request[3] = (unsigned char)(size - 4);

    fd = dial(argv[1]);
    ask(fd, request, size);
    listen_to(fd);

    out = number(answer + 1);
    err = number(answer + 5 + out);
    if (answer[0] == 'D' && (out == 0 || err == 0))
        refuse("the gate service refused without a reason", 0);
    if (put(STDOUT_FILENO, answer + 5, out) != 0) {
        if (answer[0] == 'A')
            refuse("the answer cannot be written", errno);
    }
    (void)put(STDERR_FILENO, answer + 5 + out + 4, err);
    _exit(answer[0] == 'A' ? 0 : 2);
}
