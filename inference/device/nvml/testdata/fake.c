/* A stand-in for libnvidia-ml.so.1 that answers from a table. SCENARIO chooses
   the table when it is compiled. Struct layouts are written out here a second
   time, so that a slip in the Go side shows. */
#include <stdio.h>
#include <string.h>
#include <stdatomic.h>
#include <sched.h>

enum { TWO_CARDS, MIG, GEFORCE, GROWING, ENDLESS, MISMATCH, LOST, LOST_HANDLE, NO_DRIVER, OLD, MANY, LIAR, HANG, NO_MEMORY };

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, UNSUPPORTED = 3, FORBIDDEN = 4, TOO_SMALL = 7, NOT_LOADED = 9,
       IS_LOST = 15, VERSION_MISMATCH = 18, BAD_VERSION = 25 };

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char full[32]; } pci_info;
typedef struct { unsigned long long total, free, used; } memory_1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_2;
typedef struct { unsigned gpu, memory; } utilisation;
typedef struct { unsigned pid; unsigned long long used; } process_1;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process_2;
typedef struct { int index; } card;

static card cards[2] = {{0}, {1}};
static int starts;
static atomic_int entered, released;

int fake_starts(void) { return starts; }
int fake_entered(void) { return atomic_load(&entered); }
void fake_release(void) { atomic_store(&released, 1); }

/* refusal is what every question about a card is answered with. */
static int refusal(card *c) {
	if (starts == 0) return UNINITIALIZED;
	if (c != &cards[0] && c != &cards[1]) return INVALID;
	/* The lost card is back after the library was started again. */
	if (SCENARIO == LOST && c->index == 1 && starts == 1) return IS_LOST;
	return OK;
}
#define ASK(c) do { int r = refusal(c); if (r) return r; } while (0)

static int put(char *to, unsigned room, const char *text) {
	if (strlen(text) + 1 > room) return TOO_SMALL;
	strcpy(to, text);
	return OK;
}

int nvmlInit_v2(void) {
	if (SCENARIO == MISMATCH) return VERSION_MISMATCH;
	if (SCENARIO == NO_DRIVER) return NOT_LOADED;
	starts++;
	return OK;
}
int nvmlShutdown(void) { return OK; }

int nvmlSystemGetDriverVersion(char *to, unsigned room) { return put(to, room, SCENARIO == OLD ? "470.256.02" : "580.65.06"); }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = SCENARIO == OLD ? 11040 : 13000; return OK; }

int nvmlDeviceGetCount_v2(unsigned *n) {
	*n = SCENARIO == MANY ? 100000 : SCENARIO == TWO_CARDS || SCENARIO == LOST || SCENARIO == LOST_HANDLE ? 2 : 1;
	return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, card **c) {
	if (SCENARIO == LOST_HANDLE && i == 1) return IS_LOST;
	if (i > 1) return INVALID;
	*c = &cards[i];
	return OK;
}

int nvmlDeviceGetName(card *c, char *to, unsigned room) {
	ASK(c);
	if (SCENARIO == LIAR) { memset(to, 'x', room); return OK; }
	if (SCENARIO == MIG) return put(to, room, "NVIDIA H200");
	return put(to, room, c->index ? "NVIDIA GeForce RTX 3090" : "NVIDIA GeForce RTX 5090");
}
int nvmlDeviceGetUUID(card *c, char *to, unsigned room) {
	ASK(c);
	char s[64];
	snprintf(s, sizeof s, "GPU-00000000-0000-0000-0000-00000000000%d", c->index);
	return put(to, room, s);
}
int nvmlDeviceGetPciInfo_v3(card *c, pci_info *p) {
	ASK(c);
	memset(p, 0, sizeof *p);
	p->domain = c->index ? 0x10000 : 0;
	p->bus = c->index ? 0xc1 : 1;
	p->device = c->index ? 0x1f : 0;
	p->id = 0x2b8510de;
	snprintf(p->full, sizeof p->full, "%08X:%02X:%02X.0", p->domain, p->bus, p->device);
	return OK;
}
#ifndef WITHOUT_NEW
int nvmlDeviceGetMemoryInfo_v2(card *c, memory_2 *m) {
	ASK(c);
	if (SCENARIO == NO_MEMORY) return UNSUPPORTED;
	if (m->version != (sizeof(memory_2) | 2u << 24)) return BAD_VERSION;
	m->total = c->index ? 25769803776ull : 34190917632ull;
	m->reserved = 500000000ull;
	m->used = c->index ? 1000000000ull : 3000000000ull;
	m->free = m->total - m->reserved - m->used;
	return OK;
}
#endif
int nvmlDeviceGetMemoryInfo(card *c, memory_1 *m) {
	ASK(c);
	m->total = 25769803776ull;
	m->used = 1500000000ull;
	m->free = m->total - m->used;
	return OK;
}
int nvmlDeviceGetUtilizationRates(card *c, utilisation *u) {
	ASK(c);
	if (SCENARIO == GEFORCE) return UNSUPPORTED;
	if (SCENARIO == HANG) {
		atomic_store(&entered, 1);
		while (!atomic_load(&released)) sched_yield();
	}
	u->gpu = 97;
	u->memory = 41;
	return OK;
}
int nvmlDeviceGetTemperature(card *c, int sensor, unsigned *t) {
	ASK(c);
	if (sensor != 0) return INVALID;
	*t = 61 + c->index;
	return OK;
}
int nvmlDeviceGetPowerUsage(card *c, unsigned *mw) { ASK(c); if (SCENARIO == GEFORCE) return UNSUPPORTED; *mw = 431500; return OK; }
int nvmlDeviceGetEnforcedPowerLimit(card *c, unsigned *mw) { ASK(c); if (SCENARIO == GEFORCE) return FORBIDDEN; *mw = 575000; return OK; }
int nvmlDeviceGetPowerManagementLimitConstraints(card *c, unsigned *least, unsigned *most) {
	ASK(c);
	if (SCENARIO == GEFORCE) return UNSUPPORTED;
	*least = 400000;
	*most = 600000;
	return OK;
}
int nvmlDeviceGetPowerManagementDefaultLimit(card *c, unsigned *mw) { ASK(c); if (SCENARIO == GEFORCE) return UNSUPPORTED; *mw = 575000; return OK; }
int nvmlDeviceGetCudaComputeCapability(card *c, int *major, int *minor) {
	ASK(c);
	*major = c->index ? 8 : 12;
	*minor = c->index ? 6 : 0;
	return OK;
}
int nvmlDeviceGetMigMode(card *c, unsigned *now, unsigned *later) {
	ASK(c);
	if (SCENARIO != MIG) return UNSUPPORTED;
	*now = 1;
	*later = 0;
	return OK;
}
int nvmlDeviceGetCurrPcieLinkGeneration(card *c, unsigned *n) { ASK(c); *n = 1; return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(card *c, unsigned *n) { ASK(c); if (SCENARIO == GEFORCE) return UNSUPPORTED; *n = 8; return OK; }
int nvmlDeviceGetMaxPcieLinkGeneration(card *c, unsigned *n) { ASK(c); *n = 5; return OK; }
int nvmlDeviceGetMaxPcieLinkWidth(card *c, unsigned *n) { ASK(c); *n = 16; return OK; }
int nvmlDeviceGetClockInfo(card *c, int type, unsigned *mhz) {
	ASK(c);
	if (type != 1 && type != 2) return INVALID;
	*mhz = type == 1 ? 2407 : 14001;
	return OK;
}

#ifndef WITHOUT_NEW
/* The growing list has 40 processes the second time and 60 from the third time
   on; the endless one always one more than fits. */
static int count_of(unsigned room) {
	static unsigned asked;
	if (SCENARIO == ENDLESS) return room + 1;
	if (SCENARIO != GROWING) return 3;
	asked++;
	return asked == 1 ? 30 : asked == 2 ? 40 : 60;
}

int nvmlDeviceGetComputeRunningProcesses_v3(card *c, unsigned *n, process_2 *list) {
	ASK(c);
	if (SCENARIO == MIG) return FORBIDDEN;
	if (SCENARIO == LIAR) { *n += 5; return OK; }
	unsigned have = count_of(*n), room = *n;
	*n = have;
	if (have > room) return TOO_SMALL;
	for (unsigned i = 0; i < have; i++)
		list[i] = (process_2){.pid = 4000 + have - i, .used = i == 1 ? ~0ull : 1000000ull * (i + 1), .gi = ~0u, .ci = ~0u};
	return OK;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(card *c, unsigned *n, process_2 *list) {
	ASK(c);
	if (SCENARIO == GEFORCE) return UNSUPPORTED;
	if (*n < 2) { *n = 2; return TOO_SMALL; }
	*n = 2;
	list[0] = (process_2){.pid = 900, .used = 123456789, .gi = ~0u, .ci = ~0u};
	list[1] = (process_2){.pid = 4001, .used = 1, .gi = ~0u, .ci = ~0u};
	return OK;
}
#endif
int nvmlDeviceGetComputeRunningProcesses(card *c, unsigned *n, process_1 *list) {
	ASK(c);
	if (*n < 2) { *n = 2; return TOO_SMALL; }
	*n = 2;
	list[0] = (process_1){77, 700};
	list[1] = (process_1){66, 600};
	return OK;
}
int nvmlDeviceGetGraphicsRunningProcesses(card *c, unsigned *n, process_1 *list) { ASK(c); *n = 0; return OK; }
