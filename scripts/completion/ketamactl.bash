# bash completion of ketamactl; source it, or install it as
# /usr/share/bash-completion/completions/ketamactl

_ketamactl_pools() { # file
    sed -n 's/^[[:space:]]*\[[[:space:]]*pool[[:space:]]\{1,\}\([^]]*[^][:space:]]\)[[:space:]]*\].*/\1/p' \
        "$1" 2>/dev/null
}

_ketamactl() {
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command="" file="" words=0 i

    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --pool | --keys | -a) ((i++)) ;;
        -*) ;;
        *)
            if [ -z "$command" ]; then
                command=${COMP_WORDS[i]}
            else
                [ -n "$file" ] || file=${COMP_WORDS[i]}
                ((words++))
            fi
            ;;
        esac
    done

    case $previous in
    --pool)
        mapfile -t COMPREPLY < <(compgen -W "$(_ketamactl_pools "$file")" -- "$current")
        return
        ;;
    --keys)
        mapfile -t COMPREPLY < <(compgen -W "100000 1m 10m" -- "$current")
        return
        ;;
    -a)
        mapfile -t COMPREPLY < <(compgen -W "127.0.0.1:11299 unix:" -- "$current")
        return
        ;;
    esac

    if [[ $current == -* ]]; then
        local options="--json"
        case $command in
        "") options="--json -a -h -V" ;;
        check | locate | share | plan) options="--json --pool" ;;
        simulate) options="--json --pool --keys" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi

    if [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " == *" -a "* ]]; then
        [ -n "$command" ] ||
            mapfile -t COMPREPLY < <(compgen -W "help reload stats version" -- "$current")
        return
    fi

    case $command in
    "") mapfile -t COMPREPLY < <(compgen -W "check locate share plan simulate" -- "$current") ;;
    check | share) [ "$words" -ge 1 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    locate) [ "$words" -ge 1 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    plan | simulate) [ "$words" -ge 2 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}

complete -o filenames -F _ketamactl ketamactl
