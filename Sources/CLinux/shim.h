// The Linux headers that Swift's Glibc module leaves out.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Behind _GNU_SOURCE in glibc, which the importer does not define.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int pipe2(int[2], int);
extern int pthread_setname_np(pthread_t, const char *);

// Numbers in memory that several processes map, and waiting for one to change (man 2 futex; syscall is variadic).
static inline unsigned shared_load(const unsigned *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static inline void shared_add(unsigned *word, unsigned number) { __atomic_fetch_add(word, number, __ATOMIC_SEQ_CST); }
static inline void shared_wait(unsigned *word, unsigned seen) { syscall(SYS_futex, word, FUTEX_WAIT, seen, (void *)0, (void *)0, 0); }
static inline void shared_wake_all(unsigned *word) { syscall(SYS_futex, word, FUTEX_WAKE, 0x7FFFFFFF, (void *)0, (void *)0, 0); }
